import { quoted, type Dialect } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import { counterName } from './counter-name';
import type { Condition, PageRequest } from './record-page';

/** A table that can be listed in order of creation, and where its total is kept. */
export interface PageSource {
  readonly table: string;
  readonly columns: readonly string[];
  /** Unique, ascending with creation. */
  readonly orderColumn: string;
  /** The counter of all rows; null: the head's sequence counts them. */
  readonly counter: string | null;
  /** The column whose values are counted apart. */
  readonly countedBy: string | null;
}

export interface PageQuery {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/** Beside the columns, every row of the answer carries the list's total under this name. */
export const TOTAL_COLUMN = 'listTotal';

const OPERATORS = { equals: '=', atLeast: '>=', atMost: '<=', after: '>' } as const;

/**
 * Rows and total in one statement, so that both are of one moment. An empty page is one row of nulls with the total. One
 * row more than the limit is read: it tells whether a page follows.
 */
export function pageQuery(source: PageSource, request: PageRequest, dialect: Dialect): PageQuery {
  const parameters = new Parameters();
  const filters = request.conditions.map((condition) => conditionSql(condition, dialect, parameters));
  const total = totalSql(source, request, filters, parameters);
  const order = quoted(source.orderColumn);
  const [direction, beyond] = request.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const { position } = request;
  const where = position === null ? filters : [...filters, `${order} ${beyond} ${parameters.add(position)}`];
  const page =
    `SELECT ${source.columns.map(quoted).join(', ')} FROM ${quoted(source.table)}${whereSql(where)} ` +
    `ORDER BY ${order} ${direction} ` +
    `LIMIT ${parameters.add(request.limit + 1)} OFFSET ${parameters.add(request.offset)}`;
  const sql =
    `SELECT page.*, counted.total AS "${TOTAL_COLUMN}" ` +
    `FROM (SELECT ${total} AS total) AS counted LEFT JOIN (${page}) AS page ON 1 = 1 ORDER BY page.${order} ${direction}`;
  return { sql, parameters: parameters.values };
}

class Parameters {
  readonly values: SqlValue[] = [];

  /** The placeholder of the value. */
  add(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }
}

function totalSql(
  { table, counter, countedBy }: PageSource,
  { total, conditions }: PageRequest,
  filters: readonly string[],
  parameters: Parameters,
): string {
  if (total !== null) return parameters.add(total);
  if (counter === null && conditions.length === 0) return `(SELECT "sequence" FROM "ledger_head" WHERE "id" = 1)`;
  const name = counter === null ? null : counterOf(counter, countedBy, conditions);
  if (name === null) return `(SELECT count(*) FROM ${quoted(table)}${whereSql(filters)})`;
  return `COALESCE((SELECT "value" FROM "ledger_counters" WHERE "name" = ${parameters.add(name)}), 0)`;
}

/** The counter that knows the total of these conditions, if there is one. */
function counterOf(counter: string, countedBy: string | null, conditions: readonly Condition[]): string | null {
  const [only, ...others] = conditions;
  if (only === undefined) return counter;
  const isCounted = others.length === 0 && only.comparison === 'equals' && only.column === countedBy;
  return isCounted ? counterName(counter, only.column, only.value) : null;
}

function conditionSql({ column, comparison, value }: Condition, dialect: Dialect, parameters: Parameters): string {
  const placeholder = parameters.add(value);
  if (comparison === 'contains') return dialect.listContains(column, placeholder);
  return `${quoted(column)} ${OPERATORS[comparison]} ${placeholder}`;
}

function whereSql(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}
