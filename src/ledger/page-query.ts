import { quoted, type Dialect } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import { counterName } from './counter-name';
import { sizeSql, unlessLongSql } from './page-budget';
import type { PageSource } from './page-source';
import type { Condition, PageRequest } from './record-page';
import { columnOf, isContains, Parameters, SelectedRows } from './selected-rows';

export interface PageQuery {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** A request, and the bytes beyond which a value of a long column is not wanted. */
export interface SizedRequest extends PageRequest {
  readonly mostBytes: number;
}

/** Beside the columns, every row of the answer carries the list's total under this name. */
export const TOTAL_COLUMN = 'listTotal';
/** And the bytes it has in long columns under this one. */
export const SIZE_COLUMN = 'listedBytes';
/** And the ledger's last sequence at that moment under this one. */
export const HEAD_COLUMN = 'listedUpTo';

const HEAD = `(SELECT "sequence" FROM "ledger_head" WHERE "id" = 1)`;

/**
 * Rows and total in one statement, so that both are of one moment. Where the total has to be counted and the ledger has
 * more than `countedAtOnce` entries, it is null: counting would take longer, the larger the table is. An empty page is one row of nulls with the total. One
 * row more than the limit is read: it tells whether a page follows. Values of long columns that have more than `mostBytes`
 * are null: whoever asks for many rows cannot know what they amount to.
 */
export function pageQuery(
  source: PageSource,
  request: SizedRequest,
  dialect: Dialect,
  countedAtOnce: number,
): PageQuery {
  const parameters = new Parameters();
  const rows = new SelectedRows(source, request.conditions, dialect, parameters);
  const total = knownTotalSql(source, request, parameters) ?? countSql(rows, countedAtOnce);
  const [direction, beyond] = request.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const { position } = request;
  const from = position === null ? rows.sql() : rows.sql(`${rows.order} ${beyond} ${parameters.add(position)}`);
  const page =
    `SELECT ${columnsSql(source, request.mostBytes, parameters)} ${from} ORDER BY ${rows.order} ${direction} ` +
    `LIMIT ${parameters.add(request.limit + 1)} OFFSET ${parameters.add(request.offset)}`;
  const sql =
    `SELECT page.*, counted.total AS "${TOTAL_COLUMN}", counted.head AS "${HEAD_COLUMN}" ` +
    `FROM (SELECT ${total} AS total, ${HEAD} AS head) AS counted ` +
    `LEFT JOIN (${page}) AS page ON 1 = 1 ORDER BY page.${quoted(source.orderColumn)} ${direction}`;
  return { sql, parameters: parameters.values };
}

function columnsSql({ table, columns, longColumns }: PageSource, mostBytes: number, parameters: Parameters): string {
  // A server cannot tell the type of a parameter that no column uses.
  const most = longColumns.length === 0 ? '' : parameters.add(mostBytes);
  const selected = columns.map((name) => {
    const column = columnOf(table, name);
    return longColumns.includes(name) ? unlessLongSql(column, name, most) : column;
  });
  const size = sizeSql(longColumns.map((name) => columnOf(table, name)));
  return [...selected, `${size} AS "${SIZE_COLUMN}"`].join(', ');
}

/** Null: nobody has counted these rows. */
function knownTotalSql(source: PageSource, request: PageRequest, parameters: Parameters): string | null {
  if (request.total !== null) return parameters.add(request.total);
  if (source.isLedger && request.conditions.length === 0) return HEAD;
  const name = counterFor(source, request.conditions);
  if (name === null) return null;
  return `COALESCE((SELECT "value" FROM "ledger_counters" WHERE "name" = ${parameters.add(name)}), 0)`;
}

/** A database counts only where the condition holds. */
function countSql(rows: SelectedRows, countedAtOnce: number): string {
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
