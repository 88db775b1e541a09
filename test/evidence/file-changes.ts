import type { Parsed } from '../support/application/send';
import { canonical } from '../verification/recompute-chain';
import { entryOf } from './forged-file';

/** A file with a change, spelled as it has to be. */
export function changed(change: (file: Parsed) => void): (text: string) => string {
  return (text) => {
    const file: Parsed = JSON.parse(text);
    change(file);
    return canonical(file);
  };
}

/** The state of an agent by its place among the agents' entries, in this entry and all later ones of the same agent. */
export function agentIn(place: number, change: (agent: Parsed) => void): (file: Parsed) => void {
  return ({ entries }) => {
    const agents = entries.filter(({ subjectType }: Parsed) => subjectType === 'agent');
    const { subjectId } = agents[place];
    for (const entry of agents.filter((one: Parsed) => one.subjectId === subjectId)) change(entry.state);
  };
}

/** Changes a member wherever a state of the execution or the decision has it. */
export function states(name: string, value: string): (file: Parsed) => void {
  return ({ entries }) => {
    for (const { state } of entries) if (state[name] !== undefined && state[name] !== null) state[name] = value;
  };
}

/** Changes the audit entry of an action. */
export function audits(action: string, members: object): (file: Parsed) => void {
  return (file) => {
    Object.assign(entryOf(file, action).audit, members);
  };
}

export function reasonOf(action: string, reason: string): (file: Parsed) => void {
  return (file) => {
    entryOf(file, action).audit.reason = reason;
  };
}

export function sameReviewer(file: Parsed): void {
  const entry = entryOf(file, 'decision.approved');
  const [first] = entry.state.reviews;
  for (const { state } of file.entries) {
    if (state.reviews?.length > 1)
      Object.assign(state.reviews[1], { approverId: first.approverId, groups: first.groups });
  }
  entry.audit.agentId = first.approverId;
  entry.audit.details.approverRevision = entryOf(file, 'decision.reviewed').audit.details.approverRevision;
}

export function withProofs(file: Parsed, older: Parsed): Parsed[] {
  const proofs = new Map<number, unknown>(older.entries.map(({ sequence, proof }: Parsed) => [sequence, proof]));
  return file.entries.map((entry: Parsed) => ({ ...entry, proof: proofs.get(entry.sequence) ?? entry.proof }));
}

/** The state of the agent whose review approved the decision of a file. */
export function reviewerIn(file: Parsed): Parsed {
  const { audit } = entryOf(file, 'decision.approved');
  return file.entries.find(({ subjectId }: Parsed) => subjectId === audit.agentId).state;
}
