import { isDeepStrictEqual } from 'node:util';
import { withoutUnset } from '../../support/requests/sealed-form';
import type { Parsed } from '../../support/application/send';
import type { Snapshot } from './snapshot';

/** Checks that the records are those that the entries left, in lists, tables and statistics alike. */
export function recordFaults(snapshot: Snapshot): string[] {
  const { records, stored } = snapshot;
  const { live, created } = replay(snapshot);
  const faults: string[] = [];
  for (const [id, state] of live) {
    if (!stored.has(id)) faults.push(`${id} is in the ledger and not in its table`);
    else if (stored.get(id) !== created.get(id)) faults.push(`${id} has another createdSequence than its first entry`);
    if (!records.has(id)) faults.push(`${id} is in the ledger and in no list`);
    else if (!showsState(records.get(id), state)) faults.push(`${id} is listed otherwise than the ledger left it`);
  }
  for (const id of new Set([...records.keys(), ...stored.keys()])) {
    if (!live.has(id)) faults.push(`${id} is there without an entry`);
  }
  return [...faults, ...statisticsFaults(snapshot, live)];
}

/** The records that the entries leave, and the sequence that created each. */
function replay({ entries }: Snapshot): { live: Map<string, Parsed>; created: Map<string, number> } {
  const live = new Map<string, Parsed>();
  const created = new Map<string, number>();
  for (const { audit, state, row } of entries) {
    const { action, subjectId } = audit ?? {};
    if (state === null) live.delete(subjectId);
    else live.set(subjectId, state);
    if (!created.has(subjectId)) created.set(subjectId, row.sequence);
    // Its claims go with the entity.
    if (action !== 'entity.deleted') continue;
    for (const [id, claim] of live) if (claim.entityId === subjectId && id.startsWith('clm_')) live.delete(id);
  }
  return { live, created };
}

function showsState(record: Parsed, state: Parsed): boolean {
  const sealed = withoutUnset(record);
  return Object.entries(state).every(([member, value]) => isDeepStrictEqual(sealed[member], value));
}

function statisticsFaults({ stats, entries, records }: Snapshot, live: ReadonlyMap<string, Parsed>): string[] {
  const count = (ids: Iterable<string>, prefix: string): number =>
    [...ids].filter((id) => id.startsWith(prefix)).length;
  const expected: Record<string, number> = { provenanceEntries: entries.length };
  const prefixes = { entities: 'ent_', claims: 'clm_', agents: 'agt_', decisions: 'dec_', policies: 'pol_' };
  for (const [name, prefix] of Object.entries(prefixes)) expected[name] = count(live.keys(), prefix);
  const faults = isDeepStrictEqual(stats, expected) ? [] : [`stats: ${JSON.stringify({ stats, expected })}`];
  if (records.size !== live.size) faults.push(`${records.size} records are listed where ${live.size} were left`);
  return faults;
}
