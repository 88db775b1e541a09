import type { SqlSessions, SqlRow, SqlValue } from '../../database/sql-connection';
import type { Lookup } from '../lookup';
import type { OwnedRemoval } from './pending-changes';
import type { RecordCatalog } from '../records/record-catalog';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { RowChange } from './write-buffer';
import { arraysOfOne } from '../records/statements';
import { decodeRow } from '../records/large-rows';

/** Columns with the values that a row has in them. */
export type Where = Readonly<Record<string, SqlValue>>;

/** The result of a lookup by key; the id is null if there is no such row. */
interface FoundRow {
  readonly subjectType: string;
  readonly id: string | null;
}

/** `row` is null while only its existence and size are known. */
interface KnownRow {
  readonly subjectType: string;
  readonly bytes: number;
  readonly row: GovernedRow | null;
}

/** Bytes of free-form content that are read before the commands run. */
const PREFETCHED = 8 * 1024 * 1024;
/** Bytes of free-form content after which a batch takes no further command. */
const FULL = 16 * 1024 * 1024;

/** Rows as stored in the database before the batch, each read once: nobody else writes while the batch runs. */
export class ReadCache {
  private found = new Map<string, FoundRow>();
  private known = new Map<string, KnownRow>();
  /** Bytes that are held. */
  private size = 0;
  /** Bytes that this batch has read. */
  private read = 0;

  constructor(
    private readonly connection: SqlSessions,
    private readonly catalog: RecordCatalog,
  ) {}

  /** Whether so much was read that the batch should take no further command. */
  get isFull(): boolean {
    return this.read > FULL;
  }

  /** By the columns of a unique key. */
  async find(kind: AnyRecordKind, key: Where): Promise<GovernedRow | undefined> {
    const name = nameOf(kind, key);
    const found = this.found.get(name);
    if (found?.id === null) return undefined;
    const row = found === undefined ? null : (this.known.get(found.id)?.row ?? null);
    if (row !== null) return row;
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

  /**
   * Reads what will be looked up, in one statement per column. Of large rows it reads, in lookup order, as many as a
   * batch can hold, in one more statement. The rest is read when it is asked for.
   */
  async prefetch(lookups: readonly Lookup[]): Promise<void> {
    const whole = lookups.filter((lookup) => lookup.isExistence !== true && !this.isKnown(lookup));
    const others = lookups.filter((lookup) => lookup.isExistence === true && !this.found.has(lookupName(lookup)));
    const share = Math.floor(Math.max(0, PREFETCHED - this.size) / Math.max(1, whole.length));
    await Promise.all([
      ...grouped(whole).map((group) => this.prefetchGroup(group, share)),
      ...grouped(others).map(([first, ...more]) => this.findIds(first.kind, valuesOf([first, ...more]))),
    ]);
    const large = this.largeThatFit(lookups);
    if (large.length > 0) await Promise.all(grouped(large).map((group) => this.prefetchGroup(group, PREFETCHED)));
  }

  /** Reuses what another batch has read, as far as these commands will look it up: nobody has written since. */
  takeOver(previous: ReadCache, lookups: readonly Lookup[]): void {
    for (const lookup of lookups) {
      const name = lookupName(lookup);
      const found = previous.found.get(name);
      if (found === undefined) continue;
      this.found.set(name, found);
      const known = found.id === null ? undefined : previous.known.get(found.id);
      if (found.id === null || known === undefined) continue;
      this.put(found.id, known);
      this.found.set(nameOf(lookup.kind, { id: found.id }), found);
    }
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
      if (changed.has(id) || shrunk.has(subjectType)) this.drop(id);
    }
  }

  forgetAll(): void {
    this.found.clear();
    this.known.clear();
    this.size = 0;
  }

  private isKnown(lookup: Lookup): boolean {
    const found = this.found.get(lookupName(lookup));
    return found !== undefined && (found.id === null || this.known.has(found.id));
  }

  /** Rows that exist and were not read, the first ones first. */
  private largeThatFit(lookups: readonly Lookup[]): Lookup[] {
    let room = PREFETCHED - this.size;
    const taken = new Set<string>();
    return lookups.filter((lookup) => {
      const id = this.found.get(lookupName(lookup))?.id ?? null;
      const known = id === null ? undefined : this.known.get(id);
      if (id === null || known?.row !== null || lookup.isExistence === true || taken.has(id)) return false;
      room -= known.bytes;
      taken.add(id);
      return room >= 0;
    });
  }

  /** @param mostBytes of a row that is read; of a larger row only its existence is noted. */
  private async prefetchGroup(group: Lookups, mostBytes: number): Promise<void> {
    const [{ kind, column }] = group;
    const codec = this.catalog.codec(kind);
    const values = valuesOf(group);
    const { sql, isSized } = codec.selectSmallAmong([column]);
    const parameters = isSized ? [arraysOfOne(values), mostBytes] : [arraysOfOne(values)];
    const rows = await this.connection.all(sql, parameters);
    for (const value of values) this.found.set(nameOf(kind, { [column]: value }), missing(kind));
    for (const row of rows) {
      const name = nameOf(kind, { [column]: String(row[column]) });
      const bytes = codec.sizeOf(row);
      if (bytes <= mostBytes) await this.keep(kind, name, row);
      else this.note(kind, name, String(row['id']), { subjectType: kind.subjectType, bytes, row: null });
    }
  }

  private async findIds(kind: AnyRecordKind, ids: readonly string[]): Promise<void> {
    const rows = await this.connection.all<{ id: string }>(this.catalog.codec(kind).selectIds, [arraysOfOne(ids)]);
    for (const id of ids) this.found.set(nameOf(kind, { id }), missing(kind));
    for (const { id } of rows) this.found.set(nameOf(kind, { id }), { subjectType: kind.subjectType, id });
  }

  private async keep(kind: AnyRecordKind, name: string, stored: SqlRow | undefined): Promise<GovernedRow | undefined> {
    if (stored === undefined) {
      this.found.set(name, missing(kind));
      return undefined;
    }
    const codec = this.catalog.codec(kind);
    const row = await decodeRow(codec, stored);
    const bytes = codec.sizeOf(stored);
    this.read += bytes;
    this.note(kind, name, row.id, { subjectType: kind.subjectType, bytes, row });
    return row;
  }

  /** Under its id as well: a row found by another key is looked up again by its id. */
  private note(kind: AnyRecordKind, name: string, id: string, known: KnownRow): void {
    const found = { subjectType: kind.subjectType, id };
    this.found.set(name, found);
    this.found.set(nameOf(kind, { id }), found);
    this.put(id, known);
  }

  private put(id: string, known: KnownRow): void {
    this.drop(id);
    this.known.set(id, known);
    this.size += heldBytes(known);
  }

  private drop(id: string): void {
    const known = this.known.get(id);
    if (known !== undefined) this.size -= heldBytes(known);
    this.known.delete(id);
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

function heldBytes({ row, bytes }: KnownRow): number {
  return row === null ? 0 : bytes;
}

function missing({ subjectType }: AnyRecordKind): FoundRow {
  return { subjectType, id: null };
}

function lookupName({ kind, column, value }: Lookup): string {
  return nameOf(kind, { [column]: value });
}

function nameOf(kind: AnyRecordKind, key: Where): string {
  return JSON.stringify([kind.subjectType, key]);
}
