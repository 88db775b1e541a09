import { conflict, contentErased } from '../../core/errors/domain-error';
import type { JsonValue } from '../../core/json/json-value';
import type { DecisionBasis } from '../../governance/executions/execution.entity';
import type { NamedRules } from '../../governance/policies/past-policies';
import { erasureAction } from '../../ledger/chain/stored-entry';
import type { ParsedListedEntry } from '../../ledger/reading/entry-reader';

/** An agent that an entry names, in the revision that counted. */
export interface NamedAgent {
  readonly agentId: string;
  readonly revision: number;
  /** Sequence of the entry that names it. */
  readonly sequence: number;
}

/** Another record that an entry names as examined. */
export interface NamedRecord {
  readonly id: string;
  /** Possible actions of the entry that created the record. */
  readonly actions: readonly string[];
  /** Sequence of the entry that names it. */
  readonly sequence: number;
}

/**
 * Evidence on which decisions in entries rest, and which is needed to recompute them. Each item has the first entry
 * that names it.
 */
interface NamedEvidence {
  readonly rules: readonly NamedRules[];
  readonly agents: readonly NamedAgent[];
  /** Ids of the stops that covered the requests. */
  readonly stops: readonly string[];
  /** Claims of the entity. */
  readonly records: readonly NamedRecord[];
}

type Listed = Pick<
  ParsedListedEntry,
  'v' | 'sequence' | 'action' | 'subjectType' | 'subjectId' | 'agentId' | 'details' | 'erased'
>;
type Details = NonNullable<Listed['details']>;

/** Actions of entries that record what policies, or reviewers, decided. */
const DECIDING: ReadonlySet<string> = new Set([
  'execution.authorized',
  'execution.denied',
  'execution.approval_requested',
  'execution.resumed',
  'execution.resume_denied',
  'decision.reviewed',
  'decision.approved',
  'decision.rejected',
]);

/** True if the entry records the erasure of its record. The contents of older entries are erased soon. */
export function isErasing({ action, subjectType }: Pick<ParsedListedEntry, 'action' | 'subjectType'>): boolean {
  return action === erasureAction(subjectType);
}

/**
 * Returns the evidence that deciding entries name.
 * @param what subject of the entries, for messages
 * @param people person on whose behalf each execution is, if registered
 * @throws CONTENT_ERASED; CONFLICT if a decision precedes the entries that record its basis
 */
export function evidenceNamedIn(
  entries: readonly Listed[],
  what: string,
  people: ReadonlyMap<string, string>,
): NamedEvidence {
  const rules = new Map<string, NamedRules>();
  const agents = new Map<string, NamedAgent>();
  const stops = new Set<string>();
  const records = new Map<string, NamedRecord>();
  const noteAgents = (counted: readonly Counted[], sequence: number): void => {
    for (const agent of counted) {
      const key = `${agent.agentId} ${agent.revision}`;
      if (!agents.has(key)) agents.set(key, { ...agent, sequence });
    }
  };
  for (const entry of entries) {
    const { v, sequence, action, subjectId, agentId, details, erased } = entry;
    if (erased !== null || details === null) throw contentErased(what, erased ?? sequence);
    if (isErasing(entry)) throw contentErased(action === 'grant.erased' ? 'the grant that served it' : what, sequence);
    // A change may alter its own approvers, so they count as they were before its first entry.
    if (action === 'decision.change_made') noteAgents(approversIn(details), Number(details['firstSequence']));
    if (!DECIDING.has(action)) continue;
    const { rules: hash, stopId } = details;
    if (v === 1 || typeof hash !== 'string') throw conflict(tooOld(sequence));
    if (!rules.has(hash)) rules.set(hash, { hash, sequence });
    if (typeof stopId === 'string') stops.add(stopId);
    for (const record of recordsIn(details))
      if (!records.has(record.id)) records.set(record.id, { ...record, sequence });
    const counted = [
      ...countedAgent(agentId, details),
      ...personIn(details, people.get(subjectId)),
      ...delegatorIn(details),
      ...approversIn(details),
    ];
    noteAgents(counted, sequence);
  }
  return {
    rules: [...rules.values()],
    agents: [...agents.values()],
    stops: [...stops],
    records: [...records.values()],
  };
}

function tooOld(sequence: number): string {
  return (
    `The entry ${sequence} was decided before entries recorded the rules and revisions that they were decided by ` +
    '(version 1 of the sealed form), so no file can show how.'
  );
}

type Counted = Omit<NamedAgent, 'sequence'>;

/** Returns the agent that executes, or reviews. */
function countedAgent(agentId: string | null, { agentRevision, approverRevision }: Details): Counted[] {
  const revision = agentRevision ?? approverRevision;
  return agentId !== null && typeof revision === 'number' ? [{ agentId, revision }] : [];
}

function personIn({ principalRevision: revision }: Details, agentId: string | undefined): Counted[] {
  return agentId !== undefined && typeof revision === 'number' ? [{ agentId, revision }] : [];
}

/** Returns the person in whose place somebody reviewed. */
function delegatorIn({ delegator }: Details): Counted[] {
  return delegator === undefined ? [] : [delegator as unknown as Counted];
}

function recordsIn({ claims = [] }: Details): Omit<NamedRecord, 'sequence'>[] {
  const claimFacts = claims as unknown as NonNullable<DecisionBasis['claims']>;
  return claimFacts.flatMap(({ ids }) => (ids ?? []).map((id) => ({ id, actions: ['claim.added'] })));
}

/** Returns the ids of earlier executions that conditions found. */
export function earlierIn({ details }: Pick<Listed, 'details'>): string[] {
  const earlier = (details?.['earlier'] ?? []) as unknown as NonNullable<DecisionBasis['earlier']>;
  const repeats = details?.['repeats'];
  return [
    ...earlier.flatMap(({ executionId }) => executionId ?? []),
    ...(typeof repeats === 'string' ? [repeats] : []),
  ];
}

/** Returns the agents whose approvals were examined. */
function approversIn({ approvers }: Details): Counted[] {
  return Array.isArray(approvers) ? (approvers as readonly JsonValue[] as readonly Counted[]).slice() : [];
}
