import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';
import type { Database } from '../database/database';
import type { SqlStatement, SqlValue } from '../database/sql-connection';
import { counterName } from '../records/counters';
import { LIST_ITEMS, sizeSql } from '../records/statements';
import type { Condition, PageRequest } from '../kinds/record-page';
import type { RecordCodec } from '../records/record-codec';

/** A table that can be listed in order of creation, and the counter of its totals. */
export interface PageSource {
  readonly table: string;
  readonly columns: readonly string[];
  /**
   * The columns of the table whose text can be of any length, listed or not: a database may have to read past them to
   * the columns behind them.
   */
  readonly longColumns: readonly string[];
  /** Unique column whose values ascend in order of creation. */
  readonly orderColumn: string;
  /** Indexed time that never decreases in list order; null if lists cannot be filtered by time. */
  readonly timeColumn: string | null;
  readonly counter: string;
  /** The columns with a counter per value. */
  readonly countedBy: readonly string[];
  /** The list columns whose items are indexed and counted. */
  readonly listColumns: readonly string[];
  /** Selective columns: few rows have the same value. Most selective first. */
  readonly selectiveColumns: readonly string[];
  /** True for the ledger's entries: the head's sequence counts all of them. */
  readonly isLedger: boolean;
}

const OPERATORS = { equals: '=', atLeast: '>=', atMost: '<=', after: '>' } as const;

/** The parameters of a statement under construction. */
export class Parameters {
  readonly values: SqlValue[] = [];

  /** Returns the placeholder of the value. */
  add(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }

  /**
   * Adds a number for LIMIT or OFFSET. SQLite compiles a statement again whenever a bare placeholder there gets a
   * value.
   */
  addCount(value: number): string {
    return `CAST(${this.add(value)} AS INTEGER)`;
  }
}

/** Selects the rows that meet the conditions; each condition is written so that an index can be used. */
class WhereClause {
  /** Column to order by. If list items lead to the rows, it is the items' copy of the order column. */
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
    return `FROM ${[...this.tables, quoteName(this.source.table)].join(', ')}${where}`;
  }

  private addItems({ column, value }: Condition, own: string): void {
    const { listColumns, counter } = this.source;
    if (!listColumns.includes(column))
      throw new Error(`${column} of ${counter} must be one of the kind's listColumns.`);
    const alias = `item${this.tables.length}`;
    this.tables.push(`${quoteName(LIST_ITEMS)} AS ${alias}`);
    this.conditions.push(
      `${alias}."item" = ${this.parameters.add(counterName(counter, column, value))}`,
      `${own} = ${alias}."createdSequence"`,
    );
  }

  /** Returns the selective column to look up first; null if the database chooses. */
  private leadingColumn(conditions: readonly Condition[]): string | null {
    const { selectiveColumns, orderColumn } = this.source;
    if (this.tables.length > 0) return orderColumn;
    return selectiveColumns.find((name) => conditions.some(({ column }) => column === name)) ?? null;
  }

  private conditionSql(condition: Condition, leading: string | null): string {
    const { column, comparison, value } = condition;
    const { table } = this.source;
    if (comparison === 'present') return `${columnOf(table, column)} IS NOT NULL`;
    if (isTimeBound(this.source, condition)) {
      return `${this.order} ${OPERATORS[condition.comparison]} (${placeOfTimeSql(this.source, condition, this.parameters)})`;
    }
    const placeholder = this.parameters.add(value);
    if (comparison === 'refersTo') return `${columnOf(table, column)} IN (${targetSql(condition, placeholder)})`;
    const own = columnOf(table, column);
    if (comparison === 'among') return `${own} IN (${this.itemsSql(placeholder, 'integer')})`;
    if (comparison === 'nullOrAmong') return `(${own} IS NULL OR ${own} IN (${this.itemsSql(placeholder, 'text')}))`;
    const isBeside = leading !== null && column !== leading && comparison === 'equals';
    const operator = OPERATORS[comparison as keyof typeof OPERATORS];
    return `${isBeside ? this.dialect.unindexed(own) : own} ${operator} ${placeholder}`;
  }

  private itemsSql(placeholder: string, type: 'integer' | 'text'): string {
    const item = this.dialect.jsonAt(0, { name: 'item', type });
    return `SELECT ${item} FROM ${this.dialect.jsonElements(placeholder)}`;
  }
}

function targetSql({ column, target }: Condition, placeholder: string): string {
  if (target === undefined) throw new Error(`The condition on ${column} refers to no table.`);
  return `SELECT "id" FROM ${quoteName(target.table)} WHERE ${quoteName(target.column)} = ${placeholder}`;
}

type TimeBound = Condition & { readonly comparison: 'atLeast' | 'atMost' };

/** True for a lower or upper bound on the time of a list. */
function isTimeBound({ timeColumn }: PageSource, condition: Condition): condition is TimeBound {
  const { column, comparison } = condition;
  return column === timeColumn && (comparison === 'atLeast' || comparison === 'atMost');
}

/**
 * Translates a time into a place in the list, because time never decreases in list order: the place of the first or
 * last row of that time.
 */
function placeOfTimeSql(source: PageSource, { column, comparison, value }: TimeBound, parameters: Parameters): string {
  const [time, place] = [quoteName(column), quoteName(source.orderColumn)];
  const direction = comparison === 'atLeast' ? 'ASC' : 'DESC';
  return (
    `SELECT ${place} FROM ${quoteName(source.table)} WHERE ${time} ${OPERATORS[comparison]} ${parameters.add(value)} ` +
    `ORDER BY ${time} ${direction}, ${place} ${direction} LIMIT 1`
  );
}

/** True for a condition that is looked up in the table of list items. */
function isContains({ comparison }: Condition): boolean {
  return comparison === 'contains';
}

/** Qualifies a column with its table, because several tables of a statement have columns of the same name. */
export function columnOf(table: string, column: string): string {
  return `${quoteName(table)}.${quoteName(column)}`;
}

/** Returns how the records of a kind are listed, with these columns. */
export function sourceOf(codec: RecordCodec, columns: readonly ColumnDefinition[]): PageSource {
  const { table, kind } = codec;
  return {
    table,
    columns: columns.map(({ name }) => name),
    longColumns: codec.columns.filter(({ type }) => type === 'json').map(({ name }) => name),
    orderColumn: 'createdSequence',
    timeColumn: kind.timeColumn ?? null,
    counter: kind.counter,
    countedBy: kind.countedBy ?? [],
    listColumns: kind.listColumns ?? [],
    selectiveColumns: [],
    isLedger: false,
  };
}

/** A request with the size in bytes above which only place and size of a row are read. */
export interface SizedRequest extends PageRequest {
  readonly mostBytes: number;
}

/** Name under which each row carries the total of the list. */
export const TOTAL_COLUMN = 'listTotal';
/** Name under which each row carries the size in bytes of its long columns. */
export const SIZE_COLUMN = 'listedBytes';
/** Name under which each row carries the ledger's last sequence at that moment. */
export const HEAD_COLUMN = 'listedUpTo';

/** Most rows of a selective column that are counted at once, however large the ledger is. */
const MAX_SELECTED = 100;

const HEAD = `(SELECT "sequence" FROM "ledger_head" WHERE "id" = 1)`;

/** The parts of a statement that reads a page. */
interface PageParts {
  /** Selects the rows of the page. */
  readonly page: string;
  readonly direction: 'ASC' | 'DESC';
  /** Selects `total` and `head` of the list. */
  readonly counted: string;
  readonly parameters: Parameters;
}

/**
 * Returns the parts of a statement that reads rows and total, so that both come from one snapshot. The total is null if
 * it would have to be counted and the ledger has more than `countedAtOnce` entries, because counting takes longer in a
 * larger table. It reads one row more than the limit, to tell whether a page follows. Of a row with more than
 * `mostBytes` in long columns, all but place and size is null: the size of many rows cannot be known beforehand.
 */
export function pageParts(
  source: PageSource,
  request: SizedRequest,
  dialect: Dialect,
  countedAtOnce: number,
): PageParts {
  const parameters = new Parameters();
  const rows = new WhereClause(source, request.conditions, dialect, parameters);
  const total =
    storedTotalSql(source, request, parameters) ?? countSql(rows, countedAtOnce, isSelective(source, request));
  const [direction, beyond] = request.order === 'asc' ? (['ASC', '>'] as const) : (['DESC', '<'] as const);
  const { position } = request;
  const from = position === null ? rows.sql() : rows.sql(`${rows.order} ${beyond} ${parameters.add(position)}`);
  const page =
    `SELECT ${columnsSql(source, request.mostBytes, parameters)} ${from} ORDER BY ${rows.order} ${direction} ` +
    `LIMIT ${parameters.addCount(request.limit + 1)} OFFSET ${parameters.addCount(request.offset)}`;
  return { page, direction, counted: `(SELECT ${total} AS total, ${HEAD} AS head)`, parameters };
}

/** Selects a page, with the total in each row; an empty page is one row of nulls with the total. */
export function pageQuery(
  source: PageSource,
  request: SizedRequest,
  dialect: Dialect,
  countedAtOnce: number,
): SqlStatement {
  const { page, direction, counted, parameters } = pageParts(source, request, dialect, countedAtOnce);
  const sql =
    `SELECT page.*, counted.total AS "${TOTAL_COLUMN}", counted.head AS "${HEAD_COLUMN}" FROM ${counted} AS counted ` +
    `LEFT JOIN (${page}) AS page ON 1 = 1 ORDER BY page.${quoteName(source.orderColumn)} ${direction}`;
  return { sql, parameters: parameters.values };
}

/**
 * Returns the selected columns, null in rows that are too large. SQLite finds a length without reading the value, but
 * reads a whole row to reach a column behind a long one.
 */
function columnsSql(source: PageSource, mostBytes: number, parameters: Parameters): string {
  const { table, columns, longColumns, orderColumn } = source;
  const size = sizeSql(longColumns.map((name) => columnOf(table, name)));
  const isAnySize = longColumns.length === 0 || mostBytes === ANY_SIZE;
  const most = isAnySize ? '' : parameters.add(mostBytes);
  const selected = columns.map((name) => {
    const column = columnOf(table, name);
    if (isAnySize || name === orderColumn) return column;
    return `CASE WHEN ${size} <= ${most} THEN ${column} END AS ${quoteName(name)}`;
  });
  return [...selected, `${size} AS "${SIZE_COLUMN}"`].join(', ');
}

/** Returns SQL that reads a total; null if no counter has it. */
function storedTotalSql(source: PageSource, request: PageRequest, parameters: Parameters): string | null {
  if (request.total !== null) return parameters.add(request.total);
  if (source.isLedger && request.conditions.length === 0) return HEAD;
  const name = counterFor(source, request.conditions);
  if (name === null) return null;
  return `COALESCE((SELECT "value" FROM "ledger_counters" WHERE "name" = ${parameters.add(name)}), 0)`;
}

/**
 * Returns SQL that counts rows; its result is null if the ledger has more than `countedAtOnce` entries, unless
 * an index finds few of them.
 */
function countSql(rows: WhereClause, countedAtOnce: number, areFew: boolean): string {
  const all = `(SELECT count(*) ${rows.sql()})`;
  const first = `SELECT 1 ${rows.sql()} LIMIT ${MAX_SELECTED + 1}`;
  const few = `(SELECT CASE WHEN count(*) <= ${MAX_SELECTED} THEN count(*) END FROM (${first}) AS few)`;
  return `CASE WHEN COALESCE(${HEAD}, 0) <= ${countedAtOnce} THEN ${all}${areFew ? ` ELSE ${few}` : ''} END`;
}

/** True if an index finds the rows, of which there are few. */
function isSelective({ selectiveColumns }: PageSource, { conditions }: PageRequest): boolean {
  const [only, ...others] = conditions;
  return others.length === 0 && only?.comparison === 'equals' && selectiveColumns.includes(only.column);
}

/** Returns the counter with the total of these conditions; null if there is none. */
function counterFor({ counter, countedBy, listColumns }: PageSource, conditions: readonly Condition[]): string | null {
  const [only, ...others] = conditions;
  if (only === undefined) return counter;
  const { column, comparison, value } = only;
  const isCounted =
    comparison === 'equals' ? countedBy.includes(column) : isContains(only) && listColumns.includes(column);
  return isCounted && others.length === 0 ? counterName(counter, column, value) : null;
}

/** Most bytes of free-form content in a page, unless a single row has more. */
const PAGE_BYTES = 1024 * 1024;
/** Exceeds any value that either database can store. */
export const ANY_SIZE = 2 ** 31 - 1;

/**
 * Returns how many bytes each row of a page, and the row after the page, may have if the other rows are not checked.
 */
export function shareOf(limit: number): number {
  return Math.floor(PAGE_BYTES / (limit + 1));
}

/** Returns how many of the first rows of these sizes fit in a page: at least one. */
export function rowsThatFit(sizes: readonly number[]): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size) => (bytes += size) > PAGE_BYTES);
  return beyond < 0 ? sizes.length : Math.max(beyond, 1);
}

/** The rows of a list that were created up to a sequence. */
interface CountedList extends Pick<PageRequest, 'conditions' | 'signal'> {
  readonly source: PageSource;
  readonly upTo: number;
}

/**
 * Counts a list in ranges of sequences: no statement takes longer because the table is larger, and other requests are
 * served in between. Rows created meanwhile are not counted; changes to rows already counted are not seen.
 */
export async function totalInChunks(
  { lists, dialect }: Pick<Database, 'lists' | 'dialect'>,
  list: CountedList,
  countedAtOnce: number,
): Promise<number> {
  const { source } = list;
  const isBound = (c: Condition): boolean =>
    isTimeBound(source, c) || (c.column === source.orderColumn && c.comparison === 'after');
  // With a second bound on the same column, the database might use that one for its index lookup.
  const conditions = list.conditions.filter((c) => !isBound(c));
  const edges = new Parameters();
  const edge = (direction: 'ASC' | 'DESC'): string => {
    const rows = new WhereClause(source, list.conditions.filter(isBound), dialect, edges);
    return `(SELECT ${rows.order} ${rows.sql()} ORDER BY ${rows.order} ${direction} LIMIT 1)`;
  };
  const edgesSql = `SELECT ${edge('ASC')} AS "first", ${edge('DESC')} AS "last"`;
  const [edgeRow] = await lists.all<{ first: number | null; last: number | null }>(edgesSql, edges.values);
  const first = edgeRow?.first ?? 1;
  // An altered head may contain any sequence, so counting ends with the table.
  const last = Math.min(list.upTo, edgeRow?.last ?? 0);
  let total = 0;
  for (let after = first - 1; after < last; after += countedAtOnce) {
    list.signal?.throwIfAborted();
    const parameters = new Parameters();
    const rows = new WhereClause(source, conditions, dialect, parameters);
    const [from, to] = [parameters.add(after), parameters.add(Math.min(after + countedAtOnce, last))];
    const sql = `SELECT count(*) AS "count" ${rows.sql(`${rows.order} > ${from} AND ${rows.order} <= ${to}`)}`;
    const [chunk] = await lists.all<{ count: number }>(sql, parameters.values);
    total += Number(chunk?.count);
  }
  return total;
}
