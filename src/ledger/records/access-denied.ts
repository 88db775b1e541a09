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
