import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlRow } from '../database/sql-connection';
import { pageQuery, TOTAL_COLUMN } from './page-query';
import type { PageSource } from './page-source';
import { PointReader } from './point-reader';
import { RecordCatalog } from './record-catalog';
import type { RecordCodec } from './record-codec';
import type { ColumnOf, GovernedRow, RecordKind } from './record-kind';
import type { Condition, Page, PageRequest } from './record-page';
import { arraysOfOne } from './statements';

/** Reads committed records on connections that cannot write. A caller that was answered reads its own write. */
@Injectable()
export class RecordReader {
  /** By codec, then by column. */
  private readonly pointReaders = new Map<RecordCodec, Map<string, PointReader<GovernedRow>>>();

  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined> {
    return this.pointReader(this.catalog.codec(kind), 'id').find(id) as Promise<Row | undefined>;
  }

  /** By the columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
  ): Promise<Row | undefined> {
    const codec = this.catalog.codec(kind);
    const [[column, value] = ['', ''], ...others] = Object.entries<string>(key as Record<string, string>);
    if (others.length > 0) return this.findByAll(codec, key as Record<string, string>) as Promise<Row | undefined>;
    return this.pointReader(codec, column).find(value) as Promise<Row | undefined>;
  }

  async page<Row extends GovernedRow>(kind: RecordKind<Row>, request: PageRequest): Promise<Page<Row>> {
    const codec = this.catalog.codec(kind);
    const page = await this.pageOf(
      {
        table: codec.table,
        columns: codec.columns.map(({ name }) => name),
        orderColumn: 'createdSequence',
        timeColumn: kind.timeColumn ?? null,
        counter: kind.counter,
        countedBy: kind.countedBy ?? [],
        listColumns: kind.listColumns ?? [],
        selectiveColumns: [],
        isLedger: false,
      },
      request,
    );
    return { ...page, rows: page.rows.map((row) => codec.decode(row) as Row) };
  }

  /** All records that meet the conditions, oldest first, so many at a time; each piece is read when it is asked for. */
  async *pieces<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    conditions: readonly Condition[],
    limit: number,
  ): AsyncGenerator<readonly Row[]> {
    for (let position: number | null = null, more = true; more;) {
      // The total is of no use here; a known one is not counted.
      const request: PageRequest = { conditions, limit, offset: 0, order: 'asc', position, total: 0 };
      const page: Page<Row> = await this.page(kind, request);
      yield page.rows;
      position = page.rows.at(-1)?.createdSequence ?? null;
      more = page.more;
    }
  }

  /** A page of any table that is listed in order of creation; rows as stored. */
  async pageOf(source: PageSource, request: PageRequest): Promise<Page<SqlRow>> {
    const { sql, parameters } = pageQuery(source, request, this.database.dialect);
    const rows = await this.database.lists.all(sql, parameters);
    const total = Number(rows[0]?.[TOTAL_COLUMN] ?? 0);
    const found = rows.filter((row) => row[source.orderColumn] !== null);
    return { rows: found.slice(0, request.limit), total, more: found.length > request.limit };
  }

  private async findByAll(codec: RecordCodec, key: Readonly<Record<string, string>>): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere(Object.keys(key)), Object.values(key));
    return row === undefined ? undefined : codec.decode(row);
  }

  private pointReader(codec: RecordCodec, column: string): PointReader<GovernedRow> {
    const readers = this.pointReaders.get(codec) ?? new Map<string, PointReader<GovernedRow>>();
    this.pointReaders.set(codec, readers);
    const known = readers.get(column);
    if (known !== undefined) return known;
    const reader = new PointReader((values) => this.readAmong(codec, column, values));
    readers.set(column, reader);
    return reader;
  }

  private async readAmong(
    codec: RecordCodec,
    column: string,
    values: readonly string[],
  ): Promise<ReadonlyMap<string, GovernedRow>> {
    const rows =
      values.length === 1
        ? await this.database.points.all(codec.selectWhere([column]), values)
        : await this.database.points.all(codec.selectAmong(column), [arraysOfOne(values)]);
    return new Map(rows.map((row) => [String(row[column]), codec.decode(row)]));
  }
}
