import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { type ColumnDefinition, type Dialect, quoted } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import type { ColumnOf, GovernedRow, RecordKind } from '../record-kind';
import type { RecordRange } from '../record-page';
import { RecordCatalog } from '../records/record-catalog';
import { type Viewer, visibilityOf } from '../records/visibility';
import { columnOf, type PageSource, Parameters, sourceOf, WhereClause } from './where-clause';

/** Records with the same traits. */
export interface Alike<Traits> {
  /** Null if they are long: such records have to be read one by one. */
  readonly traits: Traits | null;
  readonly sequences: readonly number[];
}

/** How a column is compared: SQL for a value that stands for the column's own. */
export type Trait = (column: string, parameters: Parameters) => string;

/** Bytes of JSON above which a trait counts as long: memory holds up to this much for each record that differs. */
const LONG = 2_048;
const IS_LONG = '#long';
const SEQUENCES = '#sequences';

/**
 * @internal Looks through many records, most of which are alike. The database groups those with the same traits, so
 * that a judgement by traits alone is made once per group.
 */
@Injectable()
export class AlikeRecords {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /** The records that meet the conditions, in order and in chunks; each chunk is read when it is asked for. */
  async *chunks<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    traits: Readonly<Record<Name, Trait>>,
    range: RecordRange,
    viewer: Viewer,
  ): AsyncGenerator<readonly Alike<Pick<Row, Name>>[]> {
    const codec = this.catalog.codec(kind);
    const columns = codec.columns.filter(({ name }) => name in traits);
    const source = sourceOf(codec, columns);
    const conditions = [...range.conditions, ...visibilityOf(kind, viewer)];
    for (let { position } = range, more = true; more;) {
      const query = alikeQuery(source, columns, traits, { ...range, conditions, position }, this.database.dialect);
      const rows = await this.database.lists.all(query.sql, query.parameters);
      const found = rows.map((row) => ({
        traits: row[IS_LONG] === 1 ? null : (codec.decodeColumns(row, columns) as unknown as Pick<Row, Name>),
        sequences: (JSON.parse(String(row[SEQUENCES])) as [number][]).map(([sequence]) => sequence),
      }));
      yield found;
      const all = found.flatMap(({ sequences }) => sequences);
      more = all.length === range.atOnce;
      position = range.order === 'asc' ? Math.max(...all) : Math.min(...all);
    }
  }
}

function alikeQuery(
  source: PageSource,
  columns: readonly ColumnDefinition[],
  traits: Readonly<Record<string, Trait>>,
  { conditions, position, order, atOnce }: RecordRange,
  dialect: Dialect,
): { readonly sql: string; readonly parameters: readonly SqlValue[] } {
  const parameters = new Parameters();
  const rows = new WhereClause(source, conditions, dialect, parameters);
  const [direction, beyond] = order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const from = position === null ? rows.sql() : rows.sql(`${rows.order} ${beyond} ${parameters.add(position)}`);
  const values = columns.map((column) => {
    const own = columnOf(source.table, column.name);
    return { ...column, sql: traits[column.name]?.(own, parameters) ?? own };
  });
  const names = [...values.map(({ name }) => quoted(name)), quoted(IS_LONG)].join(', ');
  const selected = values.map(({ name, type, sql }) =>
    type === 'json'
      ? `CASE WHEN ${isLong(sql)} THEN NULL ELSE ${sql} END AS ${quoted(name)}`
      : `${sql} AS ${quoted(name)}`,
  );
  const areLong = ['1 = 0', ...values.filter(({ type }) => type === 'json').map(({ sql }) => isLong(sql))].join(' OR ');
  const chunk =
    `SELECT ${selected.join(', ')}, CASE WHEN ${areLong} THEN 1 ELSE 0 END AS ${quoted(IS_LONG)}, ` +
    `${columnOf(source.table, 'id')} AS "#id", ${rows.order} AS "sequence" ${from} ` +
    `ORDER BY ${rows.order} ${direction} LIMIT ${parameters.addCount(atOnce)}`;
  const sql =
    `SELECT ${names}, min("#id") AS "id", ${dialect.jsonRows(['sequence'])} AS ${quoted(SEQUENCES)} ` +
    `FROM (${chunk}) AS chunk GROUP BY ${names}`;
  return { sql, parameters: parameters.values };
}

function isLong(sql: string): string {
  return `octet_length(${sql}) > ${LONG}`;
}
