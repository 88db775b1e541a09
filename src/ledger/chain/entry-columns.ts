import type { ColumnDefinition } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import type { StoredEntry } from './hash-chain';

/** The columns of `ledger_entries`, in the order they are written. JSON is already text at this point. */
export const ENTRY_COLUMNS: readonly (ColumnDefinition & { readonly name: keyof StoredEntry })[] = [
  { name: 'sequence', type: 'integer' },
  { name: 'v', type: 'integer' },
  { name: 'id', type: 'text' },
  { name: 'auditId', type: 'text' },
  { name: 'timestamp', type: 'text' },
  { name: 'action', type: 'text' },
  { name: 'actorType', type: 'text' },
  { name: 'actorId', type: 'text' },
  { name: 'agentId', type: 'text' },
  { name: 'entityId', type: 'text' },
  { name: 'subjectType', type: 'text' },
  { name: 'subjectId', type: 'text' },
  { name: 'outcome', type: 'text' },
  { name: 'reason', type: 'text' },
  { name: 'details', type: 'text' },
  { name: 'requestId', type: 'text' },
  { name: 'ip', type: 'text' },
  { name: 'state', type: 'text' },
  { name: 'detailsSalt', type: 'text' },
  { name: 'stateSalt', type: 'text' },
  { name: 'detailsHash', type: 'text' },
  { name: 'auditHash', type: 'text' },
  { name: 'stateHash', type: 'text' },
  { name: 'previousHash', type: 'text' },
  { name: 'hash', type: 'text' },
  { name: 'erased', type: 'integer' },
];

/** Parses the JSON text of a list of rows, each a list of values in column order, into entries. */
export function entriesFromJson(text: string): StoredEntry[] {
  return (JSON.parse(text) as SqlValue[][]).map(entryOf);
}

function entryOf(values: readonly SqlValue[]): StoredEntry {
  const entry: Record<string, SqlValue> = {};
  ENTRY_COLUMNS.forEach(({ name }, index) => (entry[name] = values[index] ?? null));
  return entry as unknown as StoredEntry;
}

/**
 * Action of the entry for a refused caller. Such an entry has no state and says nothing about its subject, which need
 * not be a record: a search for the last state of a record skips it.
 */
export const ACCESS_DENIED = 'access.denied';

/**
 * A condition on entries; a partial index has the same text, so that the database uses it.
 * @param alias of the table in the statement, with its dot; empty if it has none.
 */
export function saysStateSql(alias = ''): string {
  return `${alias}"action" <> '${ACCESS_DENIED}'`;
}
