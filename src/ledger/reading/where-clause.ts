import { type ColumnDefinition, type Dialect, quoted } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import { counterName } from '../records/counter-name';
import { LIST_ITEMS } from '../records/statements';
import type { Condition } from '../record-page';
import type { RecordCodec } from '../records/record-codec';

/** A table that can be listed in order of creation, and where its totals are kept. */
export interface PageSource {
  readonly table: string;
  readonly columns: readonly string[];
  /** The columns whose text can be of any length. */
  readonly longColumns: readonly string[];
  /** Unique, ascending with creation. */
  readonly orderColumn: string;
  /** An indexed time that never decreases in list order; null: lists cannot be filtered by time. */
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

  /** The same for LIMIT and OFFSET. SQLite compiles a statement again whenever a bare placeholder there gets a value. */
  addCount(value: number): string {
    return `CAST(${this.add(value)} AS INTEGER)`;
  }
}

/** Selects the rows that meet the conditions; each condition is written so that an index can be used. */
export class WhereClause {
  /** The column to order by: where list items lead to the rows, the items' copy of it. */
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

  /** The column to look up first because it is selective; null: the choice is left to the database. */
  private leadingColumn(conditions: readonly Condition[]): string | null {
    const { selectiveColumns, orderColumn } = this.source;
    if (this.tables.length > 0) return orderColumn;
    return selectiveColumns.find((name) => conditions.some(({ column }) => column === name)) ?? null;
  }

  private conditionSql(condition: Condition, leading: string | null): string {
    const { column, comparison, value } = condition;
    const { table } = this.source;
    if (isTimeBound(this.source, condition)) {
      return `${this.order} ${OPERATORS[condition.comparison]} (${placeOfTimeSql(this.source, condition, this.parameters)})`;
    }
    const placeholder = this.parameters.add(value);
    const own = columnOf(table, column);
    if (comparison === 'among') return `${own} IN (${this.numbersSql(placeholder)})`;
    const isBeside = leading !== null && column !== leading && comparison === 'equals';
    const operator = OPERATORS[comparison as keyof typeof OPERATORS];
    return `${isBeside ? this.dialect.unindexed(own) : own} ${operator} ${placeholder}`;
  }

  private numbersSql(placeholder: string): string {
    const number = this.dialect.jsonAt(0, { name: 'number', type: 'integer' });
    return `SELECT ${number} FROM ${this.dialect.jsonElements(placeholder)}`;
  }
}

type TimeBound = Condition & { readonly comparison: 'atLeast' | 'atMost' };

/** True for a lower or upper bound on the time of a list. */
export function isTimeBound({ timeColumn }: PageSource, condition: Condition): condition is TimeBound {
  const { column, comparison } = condition;
  return column === timeColumn && (comparison === 'atLeast' || comparison === 'atMost');
}

/**
 * Time never decreases in list order, so a time translates to a place in it: that of the first or last row of that
 * time.
 */
export function placeOfTimeSql(
  source: PageSource,
  { column, comparison, value }: TimeBound,
  parameters: Parameters,
): string {
  const [time, place] = [quoted(column), quoted(source.orderColumn)];
  const direction = comparison === 'atLeast' ? 'ASC' : 'DESC';
  return (
    `SELECT ${place} FROM ${quoted(source.table)} WHERE ${time} ${OPERATORS[comparison]} ${parameters.add(value)} ` +
    `ORDER BY ${time} ${direction}, ${place} ${direction} LIMIT 1`
  );
}

/** Such a condition is looked up in the table of list items. */
export function isContains({ comparison }: Condition): boolean {
  return comparison === 'contains';
}

/** Qualified with its table: several tables in one statement have columns of the same name. */
export function columnOf(table: string, column: string): string {
  return `${quoted(table)}.${quoted(column)}`;
}

/** How the records of a kind are listed, with these of their columns. */
export function sourceOf({ table, kind }: RecordCodec, columns: readonly ColumnDefinition[]): PageSource {
  return {
    table,
    columns: columns.map(({ name }) => name),
    longColumns: columns.filter(({ type }) => type === 'json').map(({ name }) => name),
    orderColumn: 'createdSequence',
    timeColumn: kind.timeColumn ?? null,
    counter: kind.counter,
    countedBy: kind.countedBy ?? [],
    listColumns: kind.listColumns ?? [],
    selectiveColumns: [],
    isLedger: false,
  };
}
