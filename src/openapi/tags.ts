/** One per module, with a sentence about its purpose: the most frequently used ones first. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Executions', description: 'Actions of agents: each one authorised, carried out or refused, and recorded.' },
  { name: 'Policies', description: 'Versioned rules that allow or deny what agents do to resources.' },
  { name: 'Entities', description: 'What agents work with, and the claims that are made about it.' },
  { name: 'Agents', description: 'Who acts: its capabilities, its roles, and whether it may act at all.' },
  { name: 'Decisions', description: 'Proposals of agents, which other agents approve or reject.' },
  { name: 'API keys', description: 'Who calls: the keys that the service issues, and what each of them allows.' },
  { name: 'Audit', description: 'Who did what, when, and with what outcome.' },
  { name: 'Events', description: 'The audit trail as it is written, without polling.' },
  { name: 'Provenance', description: 'The chain of seals over the audit trail, and its verification.' },
  { name: 'Health', description: 'Whether the service works, and how many records it holds.' },
];
