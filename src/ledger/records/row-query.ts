import type { SqlSessions, SqlValue } from '../database/sql-connection';
import type { AnyRecordKind } from '../kinds/record-kind';

/**
 * A statement that finds rows for a list of keys. Each key follows its position in the list, which its rows return as
 * `place`.
 */
export interface RowQuery {
  /** Name of the prepared statement. */
  readonly name: string;
  readonly sql: string;
  readonly key: readonly SqlValue[];
  /** A result can only change if rows with these values change or are removed. */
  readonly dependsOn: readonly { readonly kind: AnyRecordKind; readonly values: Readonly<Record<string, SqlValue>> }[];
}

/** Runs row queries, inside a command or outside, and returns the rows of each in their order. */
export type RunRowQueries = <Row>(queries: readonly RowQuery[]) => Promise<readonly (readonly Row[])[]>;

/** Runs queries, all queries with the same text in one statement, and returns the rows of each in order. */
export async function runRowQueries<Row>(
  reader: Pick<SqlSessions, 'all'>,
  queries: readonly RowQuery[],
): Promise<readonly Row[][]> {
  const results = queries.map((): Row[] => []);
  const read = async (sql: string): Promise<void> => {
    const keys = queries.flatMap((query, place) => (query.sql === sql ? [[place, ...query.key]] : []));
    for (const row of await reader.all<Row & { place: number }>(sql, [JSON.stringify(keys)]))
      results[row.place]?.push(row);
  };
  await Promise.all(Array.from(new Set(queries.map((query) => query.sql)), read));
  return results;
}
