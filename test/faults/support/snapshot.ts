import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { type Parsed, send } from '../../support/application/send';

/** Lists under `/api/v1`, the subject type of their records, and their tables. */
export const LISTS = [
  { path: 'entities', subjectType: 'entity', table: 'entities' },
  { path: 'agents', subjectType: 'agent', table: 'agents' },
  { path: 'decisions', subjectType: 'decision', table: 'decisions' },
  { path: 'policies', subjectType: 'policy', table: 'policies' },
  { path: 'executions', subjectType: 'execution', table: 'executions' },
] as const;

/** An entry of the ledger as audit and provenance show it, and its row in the database. */
export interface SnapshotEntry {
  readonly audit: Parsed;
  readonly provenance: Parsed;
  readonly row: Row;
  /** The subject after the entry; null if it no longer existed. */
  readonly state: Parsed;
  readonly salts: Parsed;
}

interface Row {
  readonly sequence: number;
  readonly auditId: string;
  readonly hash: string;
  readonly state: string | null;
  readonly detailsSalt: string | null;
  readonly stateSalt: string | null;
}

/** All answers of the service at a quiet moment, and the content of its database. */
export interface Snapshot {
  readonly entries: readonly SnapshotEntry[];
  /** Records by id, as the lists show them; claims are those of entities that have some. */
  readonly records: ReadonlyMap<string, Parsed>;
  /** The ids in the tables, each with the sequence of the entry that created it. */
  readonly stored: ReadonlyMap<string, number>;
  readonly stats: Parsed;
  readonly verification: Parsed;
  /** Inconsistencies found while reading. */
  readonly faults: readonly string[];
}

/**
 * Reads everything over HTTP, and again from the database on a separate connection. Repeated as long as
 * the service itself writes, for example an expiry.
 */
export async function takeSnapshot(
  url: string,
  database: SqlConnection,
  checkpoint: string | null = null,
): Promise<Snapshot> {
  for (;;) {
    const snapshot = await readAll(url, database, checkpoint);
    const { provenanceEntries } = (await get(url, 'stats')).body;
    if (provenanceEntries === snapshot.stats.provenanceEntries) return snapshot;
  }
}

async function readAll(url: string, database: SqlConnection, checkpoint: string | null): Promise<Snapshot> {
  const faults: string[] = [];
  const stats = (await get(url, 'stats')).body;
  const request = { state: true, ...(checkpoint !== null && { checkpoint }) };
  const { body: verification } = await send({ url }, 'POST', '/api/v1/provenance/verify', { body: request });
  const entries = await readEntries(url, database, faults);
  const stored = await readStored(database);
  const records = new Map<string, Parsed>();
  for (const { path } of LISTS) keepAll(records, await everyPage(url, path, faults));
  for (const entity of entitiesWithClaims(entries)) {
    if (records.has(entity)) keepAll(records, await everyPage(url, `entities/${entity}/claims`, faults));
  }
  return { entries, records, stored, stats, verification, faults };
}

async function readEntries(url: string, database: SqlConnection, faults: string[]): Promise<SnapshotEntry[]> {
  const audits = await everyPage(url, 'audit', faults, 'order=asc');
  const seals = await everyPage(url, 'provenance', faults);
  const rows = await database.all<Row>(
    'SELECT "sequence", "auditId", "hash", "state", "detailsSalt", "stateSalt" FROM "ledger_entries" ORDER BY "sequence"',
  );
  if (audits.length !== seals.length || seals.length !== rows.length) {
    faults.push(`${audits.length} audit entries, ${seals.length} provenance entries, ${rows.length} rows`);
  }
  return rows.map((row, index) => ({
    audit: audits[index],
    provenance: seals[index],
    row,
    state: row.state === null ? null : JSON.parse(row.state),
    salts: { details: row.detailsSalt, state: row.stateSalt },
  }));
}

async function readStored(database: SqlConnection): Promise<Map<string, number>> {
  const stored = new Map<string, number>();
  for (const table of [...LISTS.map((list) => list.table), 'claims']) {
    const rows = await database.all<{ id: string; createdSequence: number }>(
      `SELECT "id", "createdSequence" FROM "${table}"`,
    );
    for (const { id, createdSequence } of rows) stored.set(id, createdSequence);
  }
  return stored;
}

/** Every item of a list, page by page, and whether the total is their number. */
async function everyPage(url: string, path: string, faults: string[], filter = ''): Promise<Parsed[]> {
  const items: Parsed[] = [];
  let query = `limit=1000&${filter}`.replace(/&$/, '');
  for (;;) {
    const { body } = await get(url, `${path}?${query}`);
    items.push(...body.data);
    if (body.nextCursor === undefined) {
      if (items.length !== body.total) faults.push(`${path}: ${items.length} items where the total is ${body.total}`);
      return items;
    }
    query = `limit=1000&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
}

async function get(url: string, path: string): ReturnType<typeof send> {
  const answer = await send({ url }, 'GET', `/api/v1/${path}`);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
  return answer;
}

function entitiesWithClaims(entries: readonly SnapshotEntry[]): Set<string> {
  return new Set(entries.flatMap(({ audit }) => (audit?.subjectType === 'claim' ? [audit.entityId] : [])));
}

function keepAll(records: Map<string, Parsed>, list: readonly Parsed[]): void {
  for (const record of list) records.set(record.id, record);
}
