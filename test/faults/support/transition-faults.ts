import type { Parsed } from '../../support/application/send';
import type { Snapshot, SnapshotEntry } from './snapshot';

const SETTLES: ReadonlySet<string> = new Set(['decision.approved', 'decision.rejected', 'decision.expired']);
/** Actions that a suspended agent must not take. */
const ACTS: ReadonlySet<string> = new Set([
  'execution.authorized',
  'decision.proposed',
  'decision.reviewed',
  'decision.approved',
]);

/** Goes through the entries in order and reports those that could not follow the ones before them. */
export function transitionFaults({ entries, records }: Snapshot): string[] {
  const rules = [settledOnce(), suspendedDoNothing(), oneVersionInForce(), revisionsInTurn(), claimsOfEntities()];
  const faults = entries.flatMap((entry) =>
    rules.flatMap((rule) => {
      const fault = rule(entry);
      return fault === null ? [] : [`entry ${entry.row.sequence}, ${entry.audit.action}: ${fault}`];
    }),
  );
  return [...faults, ...listedInForce(records), ...orderFaults(entries)];
}

/** Returns the faults of an entry, given those before it. */
type Rule = (entry: SnapshotEntry) => string | null;

function settledOnce(): Rule {
  const settled = new Set<string>();
  return ({ audit: { action, subjectId, outcome } }) => {
    const isReview = action.startsWith('decision.') && outcome !== 'denied';
    if (isReview && settled.has(subjectId)) return 'the decision was settled before';
    if (SETTLES.has(action)) settled.add(subjectId);
    return null;
  };
}

function suspendedDoNothing(): Rule {
  const suspended = new Set<string>();
  return ({ audit: { action, subjectId, agentId } }) => {
    if (ACTS.has(action) && suspended.has(agentId)) return 'the agent is suspended';
    if (action === 'agent.suspended') suspended.add(subjectId);
    if (action === 'agent.resumed') suspended.delete(subjectId);
    return null;
  };
}

function oneVersionInForce(): Rule {
  const inForce = new Map<string, string>();
  return ({ audit: { action, subjectId }, state }) => {
    if (action === 'policy.created' || action === 'policy.activated') {
      if (inForce.has(state.name)) return `another version of ${state.name} is in force`;
      inForce.set(state.name, subjectId);
    }
    if (action === 'policy.superseded' || action === 'policy.deactivated') {
      if (inForce.get(state.name) !== subjectId) return `this version of ${state.name} is not in force`;
      inForce.delete(state.name);
    }
    return null;
  };
}

function revisionsInTurn(): Rule {
  const revisions = new Map<string, number>();
  return ({ audit: { subjectId, outcome }, state }) => {
    if (typeof state?.revision !== 'number' || outcome === 'denied') return null;
    const expected = (revisions.get(subjectId) ?? 0) + 1;
    revisions.set(subjectId, state.revision);
    return state.revision === expected ? null : `revision ${state.revision} instead of ${expected}`;
  };
}

function claimsOfEntities(): Rule {
  const entities = new Set<string>();
  return ({ audit: { action, subjectId, entityId } }) => {
    if (action === 'entity.created') entities.add(subjectId);
    if (action === 'entity.deleted') entities.delete(subjectId);
    return action.startsWith('claim.') && !entities.has(entityId) ? 'its entity is not there' : null;
  };
}

function listedInForce(records: ReadonlyMap<string, Parsed>): string[] {
  const names = [...records.values()].flatMap((record) =>
    'version' in record && record.status === 'active' ? [record.name] : [],
  );
  return names.length === new Set(names).size ? [] : [`two versions are in force among ${names.join()}`];
}

/** Times never go back, and identifiers sort by creation. */
function orderFaults(entries: readonly SnapshotEntry[]): string[] {
  const faults: string[] = [];
  const latest = { timestamp: '', auditId: '', ids: new Map<string, string>() };
  const seen = new Set<string>();
  for (const { audit, row } of entries) {
    if (audit.timestamp < latest.timestamp) faults.push(`entry ${row.sequence} is older than the one before it`);
    if (audit.id <= latest.auditId) faults.push(`the id of audit entry ${row.sequence} sorts before the previous one`);
    Object.assign(latest, { timestamp: audit.timestamp, auditId: audit.id });
    const kind = audit.subjectId.slice(0, 4);
    if (!seen.has(audit.subjectId) && audit.subjectId <= (latest.ids.get(kind) ?? '')) {
      faults.push(`${audit.subjectId} sorts before one that was created earlier`);
    }
    if (!seen.has(audit.subjectId)) latest.ids.set(kind, audit.subjectId);
    seen.add(audit.subjectId);
  }
  return faults;
}
