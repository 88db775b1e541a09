import { quoted } from '../database/dialect';

/** Bytes of free-form content that a page holds, unless its only row has more. */
export const PAGE_BYTES = 8 * 1024 * 1024;
/** More than a value of either database has. */
export const ANY_SIZE = 2 ** 31 - 1;

/** Bytes that each row of a page of this limit, and the one beyond it, may have without a look at the others. */
export function shareOf(limit: number): number {
  return Math.floor(PAGE_BYTES / (limit + 1));
}

/** How many of the first rows of these sizes make a page: one at least. */
export function rowsThatFit(sizes: readonly number[]): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size) => (bytes += size) > PAGE_BYTES);
  return beyond < 0 ? sizes.length : Math.max(beyond, 1);
}

/** The bytes of a row in these columns. Neither database reads the values for it. */
export function sizeSql(columns: readonly string[]): string {
  return ['0', ...columns.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(' + ');
}

/** A value that is left in the database, and null here, where it has more bytes than the placeholder says. */
export function unlessLongSql(column: string, name: string, most: string): string {
  return `CASE WHEN octet_length(${column}) <= ${most} THEN ${column} END AS ${quoted(name)}`;
}
