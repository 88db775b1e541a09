import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { type Dialect, quoted } from '../database/dialect';
import type { ColumnOf, GovernedRow, RecordKind } from '../record-kind';
import { counterName } from '../records/counter-name';
import { LIST_ITEMS } from '../records/statements';
import { RecordCatalog } from '../records/record-catalog';
import { visibilityOf } from '../records/visibility';
import { columnOf } from './page-query';

/** Values that one statement looks for: each may be in the lists of many records that the other columns rule out. */
const AT_ONCE = 100;

/** @internal Looks for values in the lists of records. */
@Injectable()
export class ListedValues {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /**
   * Those of the values that are in the list of some record whose other columns have the given values, in few statements.
   * @param column one of the kind's `listColumns`.
   */
  async among<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    column: ColumnOf<Row>,
    values: readonly string[],
    others: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
  ): Promise<ReadonlySet<string>> {
    visibilityOf(kind, undefined);
    const { lists, dialect } = this.database;
    const { table } = this.catalog.codec(kind);
    const conditions = Object.entries(others as Readonly<Record<string, string>>);
    const sql = listedSql(
      dialect,
      table,
      conditions.map(([name]) => name),
    );
    const wanted = conditions.map(([, value]) => value);
    const found = new Set<string>();
    for (let start = 0; start < values.length; start += AT_ONCE) {
      const some = values.slice(start, start + AT_ONCE);
      const items = some.map((value, index) => [counterName(kind.counter, column, value), index]);
      const rows = await lists.all<{ place: number }>(sql, [JSON.stringify(items), ...wanted]);
      for (const { place } of rows) found.add(some[place] ?? '');
    }
    return found;
  }
}

/** The place of each item that some record lists. A scalar subquery, of which the first row found is enough. */
function listedSql(dialect: Dialect, table: string, others: readonly string[]): string {
  const asked = dialect.jsonAt(0, { name: 'item', type: 'text' });
  const place = dialect.jsonAt(1, { name: 'place', type: 'integer' });
  const conditions = others.map((name, index) => `${dialect.unindexed(columnOf(table, name))} = $${index + 2}`);
  const record =
    `SELECT 1 FROM ${quoted(LIST_ITEMS)} AS listed JOIN ${quoted(table)} ` +
    `ON ${columnOf(table, 'createdSequence')} = listed."createdSequence" ` +
    `WHERE ${[`listed."item" = ${asked}`, ...conditions].join(' AND ')} LIMIT 1`;
  return `SELECT ${place} AS "place" FROM ${dialect.jsonElements('$1')} WHERE (${record}) = 1`;
}
