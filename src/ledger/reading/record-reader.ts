import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlRow } from '../database/sql-connection';
import {
  ANY_SIZE,
  HEAD_COLUMN,
  pageQuery,
  type PageSource,
  rowsThatFit,
  shareOf,
  SIZE_COLUMN,
  type SizedRequest,
  sourceOf,
  TOTAL_COLUMN,
  totalInChunks,
} from './page-query';
import { onlyAgentSeen, type Viewer, visibilityOf, visibleTo } from '../records/visibility';
import { RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../record-kind';
import type { Condition, Page, PageRequest, RecordRange } from '../record-page';
import { arraysOfOne } from '../records/statements';
import { chunksOf } from './chunks';
import { PointReader } from './point-reader';
import { readRows } from './row-lists';
import { quoted } from '../database/dialect';

/** Keys by which one statement reads records, however large these are. */
const READ_AT_ONCE = 50;

/** The rows of a page, read in one statement. */
interface ListedRows {
  readonly rows: readonly SqlRow[];
  /** Null: it has to be counted in chunks. */
  readonly total: number | null;
  /** The ledger's last sequence when they were read. */
  readonly upTo: number;
}

/** Reads committed records on read-only connections. A caller whose write was answered reads its own write. */
@Injectable()
export class RecordReader {
  /** Ledger size up to which one statement may count rows: small enough to end well before the statement timeout. */
  private readonly countedAtOnce: number = 250_000;
  private readonly points: PointReader;

  /** @internal */
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {
    this.points = new PointReader(database);
  }

  /** @param viewer who reads: required for kinds whose records not everybody may see. */
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string, viewer?: Viewer): Promise<Row | undefined> {
    const row = this.points.find(this.catalog.codec(kind), 'id', id) as Promise<Row | undefined>;
    return kind.visibility === undefined ? row : row.then((row) => visibleTo(viewer, kind, row));
  }

  /** Without reading the record if it is large. */
  async exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    visibilityOf(kind, undefined);
    const sql = this.catalog.codec(kind).selectSmallAmong(['id']);
    const rows = await this.database.points.all(sql, [arraysOfOne([id])]);
    return rows.length > 0;
  }

  /** By the columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
  ): Promise<Row | undefined> {
    visibilityOf(kind, undefined);
    const codec = this.catalog.codec(kind);
    const columns = Object.keys(key) as ColumnOf<Row>[];
    const values = Object.values(key as Readonly<Record<string, string>>);
    const [column = '', ...others] = columns;
    const [value = ''] = values;
    if (others.length === 0) return this.points.find(codec, column, value) as Promise<Row | undefined>;
    return this.allAmong(kind, columns, [values]).then(([row]) => row);
  }

  /** Excludes what the viewer may not see, from the total as well. */
  async page<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    request: PageRequest,
    viewer?: Viewer,
  ): Promise<Page<Row>> {
    const codec = this.catalog.codec(kind);
    const page = await this.pageOf(sourceOf(codec, codec.columns), visibleOnly(kind, request, viewer));
    const rows = page.rows.map((row) => codec.decode(row)) as Row[];
    return { ...page, rows, totalOf: onlyAgentSeen(kind, viewer) };
  }

  /** @internal The records that have one of the keys, each the values of the columns of a unique key. */
  async allAmong<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    columns: readonly ColumnOf<Row>[],
    keys: readonly (readonly string[])[],
  ): Promise<Row[]> {
    visibilityOf(kind, undefined);
    const codec = this.catalog.codec(kind);
    const sql = codec.selectAmong(columns);
    const rows: Row[] = [];
    for (let start = 0; start < keys.length; start += READ_AT_ONCE) {
      const some = JSON.stringify(keys.slice(start, start + READ_AT_ONCE));
      for (const row of await this.database.points.all(sql, [some])) rows.push(codec.decode(row) as Row);
    }
    return rows;
  }

  /**
   * All records that meet the conditions, oldest first, in chunks of the given size, smaller where records are large;
   * each chunk is read when it is asked for.
   */
  chunks<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    conditions: readonly Condition[],
    limit: number,
    viewer?: Viewer,
  ): AsyncGenerator<readonly Row[]> {
    const names = this.catalog.codec(kind).columns.map(({ name }) => name as ColumnOf<Row>);
    const range = { conditions, order: 'asc', position: null, atOnce: limit } as const;
    return this.columns(kind, names, range, viewer) as AsyncGenerator<readonly Row[]>;
  }

  /**
   * @internal Some columns of the records that meet the conditions, in order, in chunks: for scanning many records of
   * which few are wanted. Each chunk is read when it is asked for.
   */
  async *columns<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    names: readonly Name[],
    { conditions, order, position: from, atOnce: limit }: RecordRange,
    viewer?: Viewer,
  ): AsyncGenerator<readonly (Pick<Row, Name> & GovernedRow)[]> {
    const codec = this.catalog.codec(kind);
    const columns = codec.columnsNamed(names);
    // The total is not needed here, so it is set and not counted.
    const total = { total: 0, totalOf: onlyAgentSeen(kind, viewer) };
    for (let position = from, more = true; more;) {
      const request: PageRequest = { conditions, limit, offset: 0, order, position, ...total };
      const page = await this.pageOf(sourceOf(codec, columns), visibleOnly(kind, request, viewer));
      const rows = page.rows.map(
        (row) => codec.decodeColumns(row, columns) as unknown as Pick<Row, Name> & GovernedRow,
      );
      yield rows;
      position = rows.at(-1)?.createdSequence ?? null;
      more = page.more;
    }
  }

  /** The ids of the records that are due, the earliest first, in chunks; each is read when it is asked for. */
  async *due<Row extends GovernedRow>(kind: RecordKind<Row>, now: string, limit: number): AsyncGenerator<string[]> {
    const sql = dueQuery(this.catalog.codec(kind));
    const chunks = chunksOf<DueRow>((last) =>
      this.database.points.all(sql, [now, last?.time ?? '', last?.id ?? '', limit]),
    );
    for await (const due of chunks) yield due.map(({ id }) => id);
  }

  /**
   * @internal A page of any table that is listed in order of creation; rows as stored. It ends before its limit if its
   * rows would take more memory than a page may. Most pages are far from that and are read in one statement.
   */
  async pageOf(source: PageSource, request: PageRequest): Promise<Page<SqlRow>> {
    const { limit } = request;
    const mostBytes = shareOf(limit);
    const page = await this.read(source, { mostBytes, ...request });
    request.signal?.throwIfAborted();
    const sizes = page.rows.map((row) => Number(row[SIZE_COLUMN]));
    if (sizes.every((size) => size <= mostBytes)) return this.cut(source, request, page);
    const fitting = { ...request, limit: rowsThatFit(sizes.slice(0, limit)) };
    return this.cut(source, fitting, await this.read(source, { ...fitting, mostBytes: ANY_SIZE }));
  }

  private async read(source: PageSource, request: SizedRequest): Promise<ListedRows> {
    const { lists, dialect } = this.database;
    const { sql, parameters } = pageQuery(source, request, dialect, this.countedAtOnce);
    const columns = [...source.columns, SIZE_COLUMN, TOTAL_COLUMN, HEAD_COLUMN];
    const rows = await readRows({ connection: lists, dialect, columns }, sql, parameters);
    const total = rows[0]?.[TOTAL_COLUMN] ?? null;
    return {
      rows: rows.filter((row) => row[source.orderColumn] !== null),
      total: total === null ? null : Number(total),
      upTo: Number(rows[0]?.[HEAD_COLUMN] ?? 0),
    };
  }

  private async cut(
    source: PageSource,
    request: PageRequest,
    { rows, total, upTo }: ListedRows,
  ): Promise<Page<SqlRow>> {
    const { limit, conditions, signal } = request;
    const list = { source, conditions, upTo, leaving: signal };
    return {
      rows: rows.slice(0, limit),
      total: total ?? (await totalInChunks(this.database, list, this.countedAtOnce)),
      more: rows.length > limit,
    };
  }
}

/** A total is reused only for a viewer who sees the same rows. */
function visibleOnly(kind: AnyRecordKind, request: PageRequest, viewer: Viewer | undefined): PageRequest {
  const isSame = (request.totalOf ?? null) === onlyAgentSeen(kind, viewer);
  const conditions = [...request.conditions, ...visibilityOf(kind, viewer)];
  return { ...request, conditions, total: isSame ? request.total : null };
}

/** A record that is due. */
interface DueRow {
  readonly id: string;
  readonly time: string;
}

/** Records due at `$1` or before, the earliest first, at most `$4` after the one with the time `$2` and the id `$3`. */
function dueQuery({ kind, table }: RecordCodec): string {
  if (kind.due === undefined) throw new Error(`A ${kind.subjectType} has no time at which it is due.`);
  const { where } = kind.due;
  const time = quoted(kind.due.timeColumn);
  return (
    `SELECT "id", ${time} AS "time" FROM ${quoted(table)} ` +
    `WHERE ${where} AND ${time} <= $1 AND (${time}, "id") > ($2, $3) ` +
    `ORDER BY ${time}, "id" LIMIT $4`
  );
}
