import { quoted, type Dialect } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import { counterName } from './counter-name';
import { LIST_ITEMS } from './list-items';
import type { Condition, PageRequest } from './record-page';

/** A table that can be listed in order of creation, and where its totals are kept. */
export interface PageSource {
  readonly table: string;
  readonly columns: readonly string[];
  /** Unique, ascending with creation. */
  readonly orderColumn: string;
  /** A time that never falls along the order, indexed; null: there is none to filter by. */
  readonly timeColumn: string | null;
  readonly counter: string;
  /** The columns whose values are counted apart. */
  readonly countedBy: readonly string[];
  /** The columns whose lists' items are indexed and counted. */
  readonly listColumns: readonly string[];
  /** Columns each of whose values few rows have, the most telling first. */
  readonly selectiveColumns: readonly string[];
  /** True for the ledger's entries: the head's sequence counts all of them. */
  readonly isLedger: boolean;
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
  const rows = new SelectedRows(source, request.conditions, dialect, parameters);
  const total = totalSql(source, request, rows, parameters);
  const [direction, beyond] = request.order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const { position } = request;
  const from = position === null ? rows.sql() : rows.sql(`${rows.order} ${beyond} ${parameters.add(position)}`);
  const columns = source.columns.map((name) => columnOf(source.table, name)).join(', ');
  const page =
    `SELECT ${columns} ${from} ORDER BY ${rows.order} ${direction} ` +
    `LIMIT ${parameters.add(request.limit + 1)} OFFSET ${parameters.add(request.offset)}`;
  const sql =
    `SELECT page.*, counted.total AS "${TOTAL_COLUMN}" FROM (SELECT ${total} AS total) AS counted ` +
    `LEFT JOIN (${page}) AS page ON 1 = 1 ORDER BY page.${quoted(source.orderColumn)} ${direction}`;
  return { sql, parameters: parameters.values };
}

class Parameters {
  readonly values: SqlValue[] = [];

  /** The placeholder of the value. */
  add(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }
}

/** The rows that meet the conditions, each condition put so that an index serves it. */
class SelectedRows {
  /** What the rows are ordered by: where items of lists lead to them, the same column of the items. */
  readonly order: string;
  private readonly tables: string[] = [];
  private readonly conditions: string[] = [];

  constructor(
    private readonly source: PageSource,
    conditions: readonly Condition[],
    private readonly dialect: Dialect,
    private readonly parameters: Parameters,
  ) {
    const own = columnOf(source.table, source.orderColumn);
    for (const condition of conditions.filter(isContains)) this.addItems(condition, own);
    this.order = this.tables.length === 0 ? own : 'item0."createdSequence"';
    const leading = this.leadingColumn(conditions);
    for (const condition of conditions) {
      if (!isContains(condition)) this.conditions.push(this.conditionSql(condition, leading));
    }
  }

  sql(more?: string): string {
    const conditions = more === undefined ? this.conditions : [...this.conditions, more];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `FROM ${[...this.tables, quoted(this.source.table)].join(', ')}${where}`;
  }

  private addItems({ column, value }: Condition, own: string): void {
    const { listColumns, counter } = this.source;
    if (!listColumns.includes(column))
      throw new Error(`${column} of ${counter} must be one of the kind's listColumns.`);
    const alias = `item${this.tables.length}`;
    this.tables.push(`${quoted(LIST_ITEMS)} AS ${alias}`);
    this.conditions.push(
      `${alias}."item" = ${this.parameters.add(counterName(counter, column, value))}`,
      `${own} = ${alias}."createdSequence"`,
    );
  }

  /** The column that is looked up first, as it leaves few rows; null: that is left to the database. */
  private leadingColumn(conditions: readonly Condition[]): string | null {
    const { selectiveColumns, orderColumn } = this.source;
    if (this.tables.length > 0) return orderColumn;
    return selectiveColumns.find((name) => conditions.some(({ column }) => column === name)) ?? null;
  }

  private conditionSql({ column, comparison, value }: Condition, leading: string | null): string {
    const { table, timeColumn } = this.source;
    const placeholder = this.parameters.add(value);
    if (column === timeColumn && (comparison === 'atLeast' || comparison === 'atMost')) {
      return this.boundSql(column, comparison, placeholder);
    }
    const own = columnOf(table, column);
    const isBeside = leading !== null && column !== leading && comparison === 'equals';
    const operator = OPERATORS[comparison as keyof typeof OPERATORS];
    return `${isBeside ? this.dialect.unindexed(own) : own} ${operator} ${placeholder}`;
  }

  /** Time never goes back along the order, so a time is a place in it: that of the first or last row of that time. */
  private boundSql(column: string, comparison: 'atLeast' | 'atMost', placeholder: string): string {
    const { table, orderColumn } = this.source;
    const [time, place] = [quoted(column), quoted(orderColumn)];
    const operator = OPERATORS[comparison];
    const direction = comparison === 'atLeast' ? 'ASC' : 'DESC';
    const bound =
      `SELECT ${place} FROM ${quoted(table)} WHERE ${time} ${operator} ${placeholder} ` +
      `ORDER BY ${time} ${direction}, ${place} ${direction} LIMIT 1`;
    return `${this.order} ${operator} (${bound})`;
  }
}

function totalSql(source: PageSource, request: PageRequest, rows: SelectedRows, parameters: Parameters): string {
  if (request.total !== null) return parameters.add(request.total);
  if (source.isLedger && request.conditions.length === 0)
    return `(SELECT "sequence" FROM "ledger_head" WHERE "id" = 1)`;
  const name = counterFor(source, request.conditions);
  if (name === null) return `(SELECT count(*) ${rows.sql()})`;
  return `COALESCE((SELECT "value" FROM "ledger_counters" WHERE "name" = ${parameters.add(name)}), 0)`;
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

function isContains({ comparison }: Condition): boolean {
  return comparison === 'contains';
}

function columnOf(table: string, column: string): string {
  return `${quoted(table)}.${quoted(column)}`;
}
