/**
 * Of a caller that was refused. Such an entry has no state and says nothing of its subject's, which need be no record: who
 * looks for the last state of a record passes over it.
 */
export const ACCESS_DENIED = 'access.denied';

/** For conditions on entries. @param alias of their table in the statement, with its dot; none where it has no other name. */
export function saysStateSql(alias = ''): string {
  return `${alias}"action" <> '${ACCESS_DENIED}'`;
}
