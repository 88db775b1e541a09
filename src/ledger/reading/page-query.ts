import { quoted, type Dialect } from '../../database/dialect';
import type { SqlValue } from '../../database/sql-connection';
import { counterName } from '../records/counter-name';
import { sizeSql } from '../records/stored-form';
import { type PageSource, columnOf, isContains, Parameters, WhereClause } from './where-clause';
import type { Condition, PageRequest } from '../record-page';

export interface PageQuery {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** A request, and the size in bytes above which a value of a long column is not read. */
export interface SizedRequest extends PageRequest {
  readonly mostBytes: number;
}

/** Each row of the result carries the list's total under this name. */
export const TOTAL_COLUMN = 'listTotal';
/** Each row carries the size in bytes of its long columns under this name. */
export const SIZE_COLUMN = 'listedBytes';
/** Each row carries the ledger's last sequence at that moment under this name. */
export const HEAD_COLUMN = 'listedUpTo';

const HEAD = `(SELECT "sequence" FROM "ledger_head" WHERE "id" = 1)`;

/**
 * Rows and total in one statement, so that both come from one snapshot. The total is null where it would have to be
 * counted and the ledger has more than `countedAtOnce` entries: counting would take longer, the larger the table is. An
 * empty page is one row of nulls with the total. One row more than the limit is read, to tell whether a page follows.
 * Values of long columns with more than `mostBytes` are null: the size of many rows cannot be known beforehand.
 */
export function pageQuery(
  source: PageSource,
  request: SizedRequest,
  dialect: Dialect,
  countedAtOnce: number,
): PageQuery {
  const parameters = new Parameters();
  const rows = new WhereClause(source, request.conditions, dialect, parameters);
  const total = knownTotalSql(source, request, parameters) ?? countSql(rows, countedAtOnce);
  const [direction, beyond] = request.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const { position } = request;
  const from = position === null ? rows.sql() : rows.sql(`${rows.order} ${beyond} ${parameters.add(position)}`);
  const page =
    `SELECT ${columnsSql(source, request.mostBytes, dialect, parameters)} ${from} ORDER BY ${rows.order} ${direction} ` +
    `LIMIT ${parameters.addCount(request.limit + 1)} OFFSET ${parameters.addCount(request.offset)}`;
  const sql =
    `SELECT page.*, counted.total AS "${TOTAL_COLUMN}", counted.head AS "${HEAD_COLUMN}" ` +
    `FROM (SELECT ${total} AS total, ${HEAD} AS head) AS counted ` +
    `LEFT JOIN (${page}) AS page ON 1 = 1 ORDER BY page.${quoted(source.orderColumn)} ${direction}`;
  return { sql, parameters: parameters.values };
}

function columnsSql(
  { table, columns, longColumns }: PageSource,
  mostBytes: number,
  dialect: Dialect,
  parameters: Parameters,
): string {
  // The server cannot infer the type of a parameter that no column uses.
  const most = longColumns.length === 0 ? '' : parameters.add(mostBytes);
  const selected = columns.map((name) => {
    const column = columnOf(table, name);
    if (!longColumns.includes(name)) return column;
    const value = mostBytes === ANY_SIZE ? dialect.undecoded(column) : column;
    return `${unlessLongSql(column, most, value)} AS ${quoted(name)}`;
  });
  const size = sizeSql(longColumns.map((name) => columnOf(table, name)));
  return [...selected, `${size} AS "${SIZE_COLUMN}"`].join(', ');
}

/** Null: no counter has this total. */
function knownTotalSql(source: PageSource, request: PageRequest, parameters: Parameters): string | null {
  if (request.total !== null) return parameters.add(request.total);
  if (source.isLedger && request.conditions.length === 0) return HEAD;
  const name = counterFor(source, request.conditions);
  if (name === null) return null;
  return `COALESCE((SELECT "value" FROM "ledger_counters" WHERE "name" = ${parameters.add(name)}), 0)`;
}

/** The database only counts where the condition holds. */
function countSql(rows: WhereClause, countedAtOnce: number): string {
  return `CASE WHEN COALESCE(${HEAD}, 0) <= ${countedAtOnce} THEN (SELECT count(*) ${rows.sql()}) END`;
}

/** The counter that knows the total of these conditions, if there is one. */
function counterFor({ counter, countedBy, listColumns }: PageSource, conditions: readonly Condition[]): string | null {
  const [only, ...others] = conditions;
  if (only === undefined) return counter;
  const { column, comparison, value } = only;
  const isCounted =
    comparison === 'equals' ? countedBy.includes(column) : isContains(only) && listColumns.includes(column);
  return isCounted && others.length === 0 ? counterName(counter, column, value) : null;
}

/** Bytes of free-form content in a page, unless a single row has more. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** Bytes of free-form content that are read without knowing how much there is. */
const UNSEEN_BYTES = 2 * 1024 * 1024;
/** Larger than any value either database can store; long columns are then read undecoded. */
export const ANY_SIZE = 2 ** 31 - 1;

/** Bytes that each row of a page of this limit, and the one beyond it, may have without checking the others. */
export function shareOf(limit: number): number {
  return Math.floor(UNSEEN_BYTES / (limit + 1));
}

/** How many of the first rows of these sizes fit in a page: at least one. */
export function rowsThatFit(sizes: readonly number[]): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size) => (bytes += size) > PAGE_BYTES);
  return beyond < 0 ? sizes.length : Math.max(beyond, 1);
}

/** The value, or null if it has more bytes than the placeholder says; such a value stays in the database. */
function unlessLongSql(column: string, most: string, value: string): string {
  return `CASE WHEN octet_length(${column}) <= ${most} THEN ${value} END`;
}
