import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlRow } from '../database/sql-connection';
import {
  ANY_SIZE,
  HEAD_COLUMN,
  pageQuery,
  rowsThatFit,
  shareOf,
  SIZE_COLUMN,
  type SizedRequest,
  TOTAL_COLUMN,
  totalInChunks,
} from './page-query';
import { type PageSource, sourceOf } from './where-clause';
import { onlyAgentSeen, type Viewer, visibilityOf, visibleTo } from '../records/visibility';
import { DataLoader } from './data-loader';
import { LargeReads } from './large-reads';
import { RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../record-kind';
import type { Condition, Page, PageRequest, RecordRange } from '../record-page';
import { arraysOfOne, sizeSql } from '../records/statements';
import { PointReader } from './point-reader';
import { readRows } from './row-lists';
import { rowsAmong } from './rows-among';
import { quoted } from '../database/dialect';

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
  private readonly existenceReaders = new Map<RecordCodec, DataLoader<true>>();

  /** @internal */
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
    largeReads: LargeReads,
  ) {
    this.points = new PointReader(database, largeReads);
  }

  /** @param viewer who reads: required for kinds whose records not everybody may see. */
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string, viewer?: Viewer): Promise<Row | undefined> {
    const found = this.points.find(this.catalog.codec(kind), 'id', id) as Promise<Row | undefined>;
    return kind.visibility === undefined ? found : found.then((row) => visibleTo(viewer, kind, row));
  }

  /** Without reading the record, which may be large. */
  async exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    visibilityOf(kind, undefined);
    const codec = this.catalog.codec(kind);
    const known = this.existenceReaders.get(codec);
    const reader = known ?? new DataLoader((ids) => this.idsAmong(codec, ids));
    if (known === undefined) this.existenceReaders.set(codec, reader);
    return (await reader.find(id)) === true;
  }

  /** By the columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
  ): Promise<Row | undefined> {
    visibilityOf(kind, undefined);
    const codec = this.catalog.codec(kind);
    const [[column, value] = ['', ''], ...others] = Object.entries<string>(key as Record<string, string>);
    if (others.length > 0) return this.findByAll(codec, key as Record<string, string>) as Promise<Row | undefined>;
    return this.points.find(codec, column, value) as Promise<Row | undefined>;
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
  allAmong<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    columns: readonly ColumnOf<Row>[],
    keys: readonly (readonly string[])[],
  ): Promise<Row[]> {
    visibilityOf(kind, undefined);
    return rowsAmong(this.database, this.catalog.codec(kind), columns, keys) as Promise<unknown> as Promise<Row[]>;
  }

  /**
   * All records that meet the conditions, oldest first, in chunks of the given size, smaller where records are large;
   * each chunk is read when it is asked for.
   */
  async *chunks<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    conditions: readonly Condition[],
    limit: number,
    viewer?: Viewer,
  ): AsyncGenerator<readonly Row[]> {
    for (let position: number | null = null, more = true; more;) {
      // The total is not needed here, so it is set and not counted.
      const total = { total: 0, totalOf: onlyAgentSeen(kind, viewer) };
      const request: PageRequest = { conditions, limit, offset: 0, order: 'asc', position, ...total };
      const page: Page<Row> = await this.page(kind, request, viewer);
      yield page.rows;
      position = page.rows.at(-1)?.createdSequence ?? null;
      more = page.more;
    }
  }

  /**
   * @internal Some columns of the records that meet the conditions, in order, in chunks: for scanning many records of
   * which few are wanted. Each chunk is read when it is asked for.
   */
  async *columns<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    names: readonly Name[],
    range: RecordRange,
    viewer?: Viewer,
  ): AsyncGenerator<readonly (Pick<Row, Name> & GovernedRow)[]> {
    const codec = this.catalog.codec(kind);
    const columns = codec.columnsNamed(names);
    const { conditions, order } = range;
    const total = { total: 0, totalOf: onlyAgentSeen(kind, viewer) };
    for (let position = range.position, more = true; more;) {
      const request: PageRequest = { conditions, limit: range.atOnce, offset: 0, order, position, ...total };
      const page = await this.pageOf(sourceOf(codec, columns), visibleOnly(kind, request, viewer));
      const rows = page.rows.map(
        (row) => codec.decodeColumns(row, columns) as unknown as Pick<Row, Name> & GovernedRow,
      );
      yield rows;
      position = rows.at(-1)?.createdSequence ?? null;
      more = page.more;
    }
  }

  /**
   * The ids of the records that are due, the earliest first, in chunks of the given size, smaller where records are
   * large. Each chunk is read when it is asked for.
   */
  async *due<Row extends GovernedRow>(kind: RecordKind<Row>, now: string, limit: number): AsyncGenerator<string[]> {
    const sql = dueQuery(this.catalog.codec(kind));
    for (let after = ['', '']; ;) {
      const rows = await this.database.points.all<DueRow>(sql, [now, ...after, limit]);
      const due = rows.slice(0, rowsThatFit(rows.map(({ bytes }) => bytes)));
      const last = due.at(-1);
      if (last === undefined) return;
      yield due.map(({ id }) => id);
      if (rows.length < limit && due.length === rows.length) return;
      after = [last.time, last.id];
    }
  }

  /**
   * @internal A page of any table that is listed in order of creation; rows as stored. It ends before its limit if its
   * rows would take more memory than a page may. Most pages are far from that and are read in one statement.
   */
  async pageOf(source: PageSource, request: PageRequest): Promise<Page<SqlRow>> {
    const { limit } = request;
    const mostBytes = shareOf(limit);
    const listed = await this.read(source, { mostBytes, ...request });
    request.leaving?.throwIfAborted();
    const sizes = listed.rows.map((row) => Number(row[SIZE_COLUMN]));
    if (sizes.every((size) => size <= mostBytes)) return this.cut(source, request, listed);
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
    const { limit, conditions, leaving } = request;
    const list = { source, conditions, upTo, leaving };
    return {
      rows: rows.slice(0, limit),
      total: total ?? (await totalInChunks(this.database, list, this.countedAtOnce)),
      more: rows.length > limit,
    };
  }

  private async findByAll(codec: RecordCodec, key: Readonly<Record<string, string>>): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere(Object.keys(key)), Object.values(key));
    return row === undefined ? undefined : codec.decode(row);
  }

  private async idsAmong(codec: RecordCodec, ids: readonly string[]): Promise<ReadonlyMap<string, true>> {
    const rows = await this.database.points.all<{ id: string }>(codec.selectIds, [arraysOfOne(ids)]);
    return new Map(rows.map(({ id }) => [id, true]));
  }
}

/** A total is reused only for a viewer who sees the same rows. */
function visibleOnly(kind: AnyRecordKind, request: PageRequest, viewer: Viewer | undefined): PageRequest {
  const isSame = (request.totalOf ?? null) === onlyAgentSeen(kind, viewer);
  const conditions = [...request.conditions, ...visibilityOf(kind, viewer)];
  return { ...request, conditions, total: isSame ? request.total : null };
}

/** A record that is due, and the size in bytes of its long columns. */
export interface DueRow {
  readonly id: string;
  readonly time: string;
  readonly bytes: number;
}

/** Records due at `$1` or before, the earliest first, at most `$4` after the one with the time `$2` and the id `$3`. */
export function dueQuery({ kind, table, columns }: RecordCodec): string {
  if (kind.due === undefined) throw new Error(`A ${kind.subjectType} has no time at which it is due.`);
  const { where } = kind.due;
  const time = quoted(kind.due.timeColumn);
  const long = columns.filter(({ type }) => type === 'json').map(({ name }) => quoted(name));
  return (
    `SELECT "id", ${time} AS "time", ${sizeSql(long)} AS "bytes" FROM ${quoted(table)} ` +
    `WHERE ${where} AND ${time} <= $1 AND (${time}, "id") > ($2, $3) ` +
    `ORDER BY ${time}, "id" LIMIT $4`
  );
}
