import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlRow } from '../database/sql-connection';
import { pageQuery, TOTAL_COLUMN, type PageSource } from './page-query';
import { RecordCatalog } from './record-catalog';
import type { ColumnOf, GovernedRow, RecordKind } from './record-kind';
import type { Page, PageRequest } from './record-page';

/** Reads committed records on connections that cannot write. A caller that was answered reads its own write. */
@Injectable()
export class RecordReader {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined> {
    return this.findWhere(kind, ['id'], [id]);
  }

  /** By the columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
  ): Promise<Row | undefined> {
    return this.findWhere(kind, Object.keys(key), Object.values<string>(key as Record<string, string>));
  }

  async page<Row extends GovernedRow>(kind: RecordKind<Row>, request: PageRequest): Promise<Page<Row>> {
    const codec = this.catalog.codec(kind);
    const page = await this.pageOf(
      {
        table: codec.table,
        columns: codec.columns.map(({ name }) => name),
        orderColumn: 'createdSequence',
        counter: kind.counter,
        countedBy: kind.countedBy ?? null,
      },
      request,
    );
    return { ...page, rows: page.rows.map((row) => codec.decode(row) as Row) };
  }

  /** A page of any table that is listed in order of creation; rows as stored. */
  async pageOf(source: PageSource, request: PageRequest): Promise<Page<SqlRow>> {
    const { sql, parameters } = pageQuery(source, request, this.database.dialect);
    const rows = await this.database.lists.all(sql, parameters);
    const total = Number(rows[0]?.[TOTAL_COLUMN] ?? 0);
    const found = rows.filter((row) => row[source.orderColumn] !== null);
    return { rows: found.slice(0, request.limit), total, more: found.length > request.limit };
  }

  private async findWhere<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    columns: readonly string[],
    values: readonly string[],
  ): Promise<Row | undefined> {
    const codec = this.catalog.codec(kind);
    const [row] = await this.database.points.all(codec.selectWhere(columns), values);
    return row === undefined ? undefined : (codec.decode(row) as Row);
  }
}
