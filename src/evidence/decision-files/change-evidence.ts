import { isChangeReview } from '../../governance/decisions/changes/change';
import type { Decision } from '../../governance/decisions/decision.entity';
import type { NamedRules } from '../../governance/policies/past-policies';
import type { ParsedListedEntry } from '../../ledger/reading/entry-reader';

/** The entries that a change has made; empty if `last` is before `first`. */
export interface MadeRange {
  readonly first: number;
  readonly last: number;
}

/** Evidence from which a change is recomputed, in addition to the entries about its decision. */
export interface ChangeEvidence {
  /** Entries of the change; null if it was not made. */
  readonly made: MadeRange | null;
  /** Agent that proposed it, and sequence of the proposal; null if the caller was bound to no agent. */
  readonly proposer: { readonly agentId: string; readonly sequence: number } | null;
  /** Rules that the change names; null unless it is about policies. */
  readonly rules: NamedRules | null;
}

/** @param entries entries about the decision, in order */
export function changeEvidenceOf(
  { type, change, proposedBy }: Pick<Decision, 'type' | 'change' | 'proposedBy'>,
  entries: readonly ParsedListedEntry[],
): ChangeEvidence {
  const [proposal] = entries;
  if (proposal === undefined) throw new Error('A decision without entries: the database was altered.');
  const making = isChangeReview({ type, change })
    ? proposal
    : entries.find(({ action }) => action === 'decision.change_made');
  const made = making === undefined ? null : rangeOf(making);
  // An emergency precedes the decision on it, and its rules were in force before it.
  const sequence = made !== null && making === proposal ? made.first : proposal.sequence;
  return {
    made,
    proposer: proposedBy === null ? null : { agentId: proposedBy, sequence: proposal.sequence },
    rules: change?.rules === undefined ? null : { hash: change.rules, sequence },
  };
}

function rangeOf({ sequence, details }: ParsedListedEntry): MadeRange {
  const { firstSequence: first, lastSequence: last } = details ?? {};
  if (typeof first === 'number' && typeof last === 'number') return { first, last };
  throw new Error(`The entry ${sequence} names no entries that a change has made: the database was altered.`);
}
