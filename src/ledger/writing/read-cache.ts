import type { SqlRow, SqlSessions, SqlValue } from '../database/sql-connection';
import type { Lookup } from '../lookup';
import type { OwnedRemoval, RowChange } from './pending-changes';
import type { RecordCatalog } from '../records/record-catalog';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import { arraysOfOne } from '../records/statements';

/** Columns with the values that a row has in them. */
export type Where = Readonly<Record<string, SqlValue>>;

/** The result of a lookup by key; the id is null if there is no such row. */
interface FoundRow {
  readonly subjectType: string;
  readonly id: string | null;
}

interface KnownRow {
  readonly subjectType: string;
  readonly row: GovernedRow;
}

/** Bytes of JSON up to which a row is read before the commands run. A larger one is read when it is asked for. */
const PREFETCHED = 16 * 1024;
/** Bytes of JSON after which a batch takes no further command. */
const FULL = 16 * 1024 * 1024;

/** Rows as stored in the database before the batch, each read once: nobody else writes while the batch runs. */
export class ReadCache {
  private readonly found = new Map<string, FoundRow>();
  private readonly known = new Map<string, KnownRow>();
  private bytes = 0;

  constructor(
    private readonly connection: SqlSessions,
    private readonly catalog: RecordCatalog,
  ) {}

  /** Whether so much was read that the batch should take no further command. */
  get isFull(): boolean {
    return this.bytes > FULL;
  }

  /** By the columns of a unique key. */
  async find(kind: AnyRecordKind, key: Where): Promise<GovernedRow | undefined> {
    const name = nameOf(kind, key);
    const found = this.found.get(name);
    if (found?.id === null) return undefined;
    const known = found === undefined ? undefined : this.known.get(found.id);
    if (known !== undefined) return known.row;
    const sql = this.catalog.codec(kind).selectWhere(Object.keys(key));
    const [stored] = await this.connection.all(sql, Object.values(key));
    return this.keep(kind, name, stored);
  }

  /** Whether a row with this id exists; the row itself is not read. */
  async exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    const name = nameOf(kind, { id });
    if (!this.found.has(name)) await this.findIds(kind, [id]);
    return (this.found.get(name)?.id ?? null) !== null;
  }

  async select(kind: AnyRecordKind, where: Where): Promise<GovernedRow[]> {
    const codec = this.catalog.codec(kind);
    const rows = await this.connection.all(codec.selectWhere(Object.keys(where)), Object.values(where));
    return rows.map((row) => codec.decode(row));
  }

  /** Some columns, and what every row has; newest first. */
  async selectNewest(
    kind: AnyRecordKind,
    names: readonly string[],
    where: Where,
    most: number,
  ): Promise<Readonly<Record<string, unknown>>[]> {
    const codec = this.catalog.codec(kind);
    const columns = codec.columnsNamed(names);
    const sql = codec.selectNewest(columns, Object.keys(where));
    const rows = await this.connection.all(sql, [...Object.values(where), most]);
    return rows.map((row) => codec.decodeColumns(row, columns));
  }

  /** Reads what will be looked up, in one statement per column. */
  async prefetch(lookups: readonly Lookup[]): Promise<void> {
    const [existences, whole] = [lookups.filter(isExistence), lookups.filter((lookup) => !isExistence(lookup))];
    await Promise.all([
      ...grouped(whole).map((group) => this.prefetchGroup(group)),
      ...grouped(existences).map(([first, ...more]) => this.findIds(first.kind, valuesOf([first, ...more]))),
    ]);
  }

  /** Drops what has changed in the database: these rows, and all rows of kinds that lost rows with their owners. */
  forget(changes: readonly RowChange[], removals: readonly OwnedRemoval[]): void {
    if (this.found.size === 0 && this.known.size === 0) return;
    const changed = new Set(changes.map(({ id }) => id));
    const grown = new Set(changes.filter(({ isNew }) => isNew).map(({ codec }) => codec.kind.subjectType));
    const shrunk = new Set(removals.map(({ codec }) => codec.kind.subjectType));
    for (const [name, { subjectType, id }] of this.found) {
      const hasChanged = id === null ? grown.has(subjectType) : changed.has(id);
      if (hasChanged || shrunk.has(subjectType)) this.found.delete(name);
    }
    for (const [id, { subjectType }] of this.known) {
      if (changed.has(id) || shrunk.has(subjectType)) this.known.delete(id);
    }
  }

  private async prefetchGroup(group: Lookups): Promise<void> {
    const [{ kind, column }] = group;
    const codec = this.catalog.codec(kind);
    const values = valuesOf(group);
    const { sql, isSized } = codec.selectSmallAmong([column]);
    const rows = await this.connection.all(sql, isSized ? [arraysOfOne(values), PREFETCHED] : [arraysOfOne(values)]);
    for (const value of values) this.found.set(nameOf(kind, { [column]: value }), missing(kind));
    for (const row of rows) {
      const name = nameOf(kind, { [column]: String(row[column]) });
      if (codec.sizeOf(row) <= PREFETCHED) this.keep(kind, name, row);
      else this.note(kind, name, String(row['id']));
    }
  }

  private async findIds(kind: AnyRecordKind, ids: readonly string[]): Promise<void> {
    const rows = await this.connection.all<{ id: string }>(this.catalog.codec(kind).selectIds, [arraysOfOne(ids)]);
    for (const id of ids) this.found.set(nameOf(kind, { id }), missing(kind));
    for (const { id } of rows) this.found.set(nameOf(kind, { id }), { subjectType: kind.subjectType, id });
  }

  private keep(kind: AnyRecordKind, name: string, stored: SqlRow | undefined): GovernedRow | undefined {
    if (stored === undefined) {
      this.found.set(name, missing(kind));
      return undefined;
    }
    const codec = this.catalog.codec(kind);
    const row = codec.decode(stored);
    this.bytes += codec.sizeOf(stored);
    this.note(kind, name, row.id);
    this.known.set(row.id, { subjectType: kind.subjectType, row });
    return row;
  }

  /** Under its id as well: a row found by another key is looked up again by its id. */
  private note(kind: AnyRecordKind, name: string, id: string): void {
    const found = { subjectType: kind.subjectType, id };
    this.found.set(name, found);
    this.found.set(nameOf(kind, { id }), found);
  }
}

/** Lookups of one kind by one column. */
type Lookups = readonly [Lookup, ...Lookup[]];

function grouped(lookups: readonly Lookup[]): Lookups[] {
  const groups = new Map<string, [Lookup, ...Lookup[]]>();
  for (const lookup of lookups) {
    const name = `${lookup.kind.subjectType} ${lookup.column}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [lookup]);
    else group.push(lookup);
  }
  return [...groups.values()];
}

function valuesOf(lookups: readonly Lookup[]): string[] {
  return [...new Set(lookups.map(({ value }) => value))];
}

function isExistence(lookup: Lookup): boolean {
  return lookup.isExistence === true;
}

function missing({ subjectType }: AnyRecordKind): FoundRow {
  return { subjectType, id: null };
}

function nameOf(kind: AnyRecordKind, key: Where): string {
  return JSON.stringify([kind.subjectType, key]);
}
