/** One per module, in the order of the document, with a sentence on what it is for. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Entities', description: 'Things the agents work with, and the claims that are made about them.' },
  { name: 'Agents', description: 'Who acts: its capabilities, its roles, and whether it may act at all.' },
  { name: 'Policies', description: 'Versioned rules that allow or deny what agents do to resources.' },
  { name: 'Executions', description: 'Actions of agents: each one authorised, carried out or refused, and recorded.' },
  { name: 'Decisions', description: 'Proposals of agents, which other agents approve or reject.' },
  { name: 'Audit', description: 'Who did what, when, and with what outcome.' },
  { name: 'Provenance', description: 'The chain of seals over the audit trail, and its verification.' },
  { name: 'Health', description: 'Whether the service works, and how many records it keeps.' },
];
