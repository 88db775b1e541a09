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
import { type Viewer, visibilityOf, visibleRows, visibleTo } from '../records/visibility';
import { RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../kinds/record-kind';
import type { Condition, Page, PageRequest, RecordRange } from '../kinds/record-page';
import { arraysOfOne } from '../records/statements';
import { chunksOf } from './chunks';
import { PointReader } from './point-reader';
import { readRows } from './row-lists';
import { quoteName } from '../database/dialect';
import type { ShownMember } from '../records/record-text';
import {
  readWrittenRows,
  type WrittenForm,
  WrittenForms,
  type WrittenPage,
  writtenPageQuery,
  type WrittenRows,
} from './written-page';

/** Most keys of one statement that reads records of any size. */
const READ_AT_ONCE = 50;

/** The rows of a page, read in one statement. */
interface ListedRows {
  readonly rows: readonly SqlRow[];
  /** Bytes of free-form content of each row. */
  readonly sizes: readonly number[];
  /** Total; null if it has to be counted in chunks. */
  readonly total: number | null;
  /** The ledger's last sequence when the rows were read. */
  readonly upTo: number;
}

/** Reads committed records on read-only connections. A caller whose write was answered reads its own write. */
@Injectable()
export class RecordReader {
  /** Ledger size up to which one statement may count rows: small enough to end well before the statement timeout. */
  private readonly countedAtOnce: number = 250_000;
  private readonly points: PointReader;
  private readonly forms: WrittenForms;

  /** @internal */
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {
    this.points = new PointReader(database);
    this.forms = new WrittenForms(database.dialect);
  }

  /** @param viewer viewer of the record; required for kinds whose records not everybody may see */
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string, viewer?: Viewer): Promise<Row | undefined> {
    const row = this.points.find(this.catalog.codec(kind), 'id', id) as Promise<Row | undefined>;
    if (kind.visibility === undefined && viewer?.team === undefined) return row;
    return row.then((row) => visibleTo(viewer, kind, row, (other, id) => this.find(other, id)));
  }

  /** True if the record exists. Does not read it if it is large. */
  async exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    visibilityOf(kind, undefined);
    const sql = this.catalog.codec(kind).selectSmallAmong(['id']);
    const rows = await this.database.points.all(sql, [arraysOfOne([id])]);
    return rows.length > 0;
  }

  /** @internal Returns those of the ids whose records are large, whoever may see them. Does not read their content. */
  async loadLargeIds(kind: AnyRecordKind, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const codec = this.catalog.codec(kind);
    const rows = await this.database.points.all(codec.selectSmallAmong(['id']), [arraysOfOne(ids)]);
    return new Set(rows.filter((row) => codec.isLarge(row)).map(({ id }) => String(id)));
  }

  /** Finds a record by the columns of one of the kind's unique keys. */
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

  /** Reads a page. Rows and total exclude records that the viewer may not see. */
  async page<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    request: PageRequest,
    viewer?: Viewer,
  ): Promise<Page<Row>> {
    const codec = this.catalog.codec(kind);
    const page = await this.pageOf(sourceOf(codec, codec.columns), visibleOnly(kind, request, viewer));
    const rows = page.rows.map((row) => codec.decode(row)) as Row[];
    return { ...page, rows, totalOf: visibleRows(kind, viewer) };
  }

  /**
   * @internal Returns a page with its records as the text of a response. Returns rows instead if a record was altered
   * and its text would not show the value, or the error, of `page`.
   * @param members members of the response
   */
  async shownPage<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    members: readonly ShownMember[],
    request: PageRequest,
    viewer?: Viewer,
  ): Promise<WrittenPage | Page<Row>> {
    const codec = this.catalog.codec(kind);
    const form = this.forms.get(members, codec.columns, codec);
    const source = sourceOf(codec, codec.columns);
    const written = await this.writtenPageOf(source, form, visibleOnly(kind, request, viewer));
    if (written === null) return this.page(kind, request, viewer);
    return { ...written, totalOf: visibleRows(kind, viewer) };
  }

  /** @internal Finds the records that have one of the keys. A key has values for the columns of a unique key. */
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
   * Yields all records that meet the conditions, oldest first, in chunks of the given size, smaller if records are
   * large. Each chunk is read when the loop reaches it.
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
   * @internal Yields some columns of the records that meet the conditions, in order and in chunks: for scanning many
   * records of which few are needed. Each chunk is read when the loop reaches it.
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
    const total = { total: 0, totalOf: visibleRows(kind, viewer) };
    for (let position = from, more = true, atOnce = limit; more;) {
      const request: PageRequest = { conditions, limit: atOnce, offset: 0, order, position, ...total };
      const page = await this.pageOf(sourceOf(codec, columns), visibleOnly(kind, request, viewer));
      const rows = page.rows.map(
        (row) => codec.decodeColumns(row, columns) as unknown as Pick<Row, Name> & GovernedRow,
      );
      yield rows;
      position = rows.at(-1)?.createdSequence ?? null;
      more = page.more;
      // After large rows, the sizes of few rows are read for the next chunk.
      atOnce = Math.min(limit, 2 * Math.max(rows.length, 1));
    }
  }

  /**
   * Yields the ids of the records that are due, the earliest first, in chunks. Each chunk is read when the loop reaches
   * it.
   */
  async *due<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    now: string,
    limit: number,
    due: RecordKind<Row>['due'] = kind.due,
  ): AsyncGenerator<string[]> {
    if (due === undefined) throw new Error(`A ${kind.subjectType} has no time at which it is due.`);
    const sql = dueQuery(this.catalog.codec(kind), due);
    const chunks = chunksOf<DueRow>((last) =>
      this.database.points.all(sql, [now, last?.time ?? '', last?.id ?? '', limit]),
    );
    for await (const due of chunks) yield due.map(({ id }) => id);
  }

  /**
   * @internal Returns a page, with rows as stored, of any table that is listed in order of creation. It ends before its
   * limit if its rows would take more memory than a page may. Most pages are far from that and are read in one
   * statement.
   */
  async pageOf(source: PageSource, request: PageRequest): Promise<Page<SqlRow>> {
    const read = (sized: SizedRequest): Promise<ListedRows> => this.read(source, sized);
    const { listed, limit } = await fittingPage(request, read);
    const total = await this.totalOf(source, request, listed);
    return { rows: listed.rows.slice(0, limit), total, more: listed.rows.length > limit };
  }

  /**
   * @internal Returns a page with its rows as text; null if a row was altered in a way that its text would not show.
   */
  async writtenPageOf(source: PageSource, form: WrittenForm, request: PageRequest): Promise<WrittenPage | null> {
    const { dialect } = this.database;
    const read = (sized: SizedRequest): Promise<WrittenRows> =>
      readWrittenRows(this.database, writtenPageQuery(source, form, sized, dialect, this.countedAtOnce), form);
    const { listed, limit } = await fittingPage(request, read);
    if (listed.isAltered) return null;
    const total = await this.totalOf(source, request, listed);
    const { texts, positions } = listed;
    const last = positions[Math.min(limit, positions.length) - 1] ?? null;
    return { text: texts.slice(0, limit).join(','), last, total, more: texts.length > limit };
  }

  private async read(source: PageSource, request: SizedRequest): Promise<ListedRows> {
    const { lists, dialect } = this.database;
    const { sql, parameters } = pageQuery(source, request, dialect, this.countedAtOnce);
    const columns = [...source.columns, SIZE_COLUMN, TOTAL_COLUMN, HEAD_COLUMN];
    const listed = await readRows({ connection: lists, dialect, columns }, sql, parameters);
    const total = listed[0]?.[TOTAL_COLUMN] ?? null;
    const rows = listed.filter((row) => row[source.orderColumn] !== null);
    return {
      rows,
      sizes: rows.map((row) => Number(row[SIZE_COLUMN])),
      total: total === null ? null : Number(total),
      upTo: Number(listed[0]?.[HEAD_COLUMN] ?? 0),
    };
  }

  private async totalOf(
    source: PageSource,
    { conditions, signal }: PageRequest,
    { total, upTo }: Pick<ListedRows, 'total' | 'upTo'>,
  ): Promise<number> {
    return total ?? totalInChunks(this.database, { source, conditions, upTo, signal }, this.countedAtOnce);
  }
}

/**
 * Reads a page, and reads it again with fewer rows if its rows would take more memory than a page may. Most pages are
 * far from that and are read in one statement.
 */
async function fittingPage<Listed extends Pick<ListedRows, 'sizes'>>(
  request: PageRequest,
  read: (request: SizedRequest) => Promise<Listed>,
): Promise<{ readonly listed: Listed; readonly limit: number }> {
  const { limit, signal } = request;
  const mostBytes = shareOf(limit);
  const listed = await read({ ...request, mostBytes });
  signal?.throwIfAborted();
  if (listed.sizes.every((size) => size <= mostBytes)) return { listed, limit };
  const fitting = rowsThatFit(listed.sizes.slice(0, limit));
  return { listed: await read({ ...request, limit: fitting, mostBytes: ANY_SIZE }), limit: fitting };
}

/** Restricts a request to the visible rows. Its total is reused only for a viewer who sees the same rows. */
function visibleOnly(kind: AnyRecordKind, request: PageRequest, viewer: Viewer | undefined): PageRequest {
  const isSame = (request.totalOf ?? null) === visibleRows(kind, viewer);
  const conditions = [...request.conditions, ...visibilityOf(kind, viewer)];
  return { ...request, conditions, total: isSame ? request.total : null };
}

/** A record that is due. */
interface DueRow {
  readonly id: string;
  readonly time: string;
}

/**
 * Selects the records due at `$1` or before, the earliest first: at most `$4` after the one with the time `$2` and the
 * id `$3`.
 */
function dueQuery({ table }: RecordCodec, { timeColumn, where }: Required<AnyRecordKind>['due']): string {
  const time = quoteName(timeColumn);
  return (
    `SELECT "id", ${time} AS "time" FROM ${quoteName(table)} ` +
    `WHERE ${where} AND ${time} <= $1 AND (${time}, "id") > ($2, $3) ` +
    `ORDER BY ${time}, "id" LIMIT $4`
  );
}
