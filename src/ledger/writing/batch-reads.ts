import type { SqlConnection, SqlRow, SqlSessions, SqlValue } from '../database/sql-connection';
import { byId, type Lookup } from '../kinds/lookup';
import type { RecordCatalog } from '../records/record-catalog';
import type { AnyRecordKind, GovernedRow } from '../kinds/record-kind';
import { arraysOfOne } from '../records/statements';
import { runRowQueries, type RowQuery } from '../records/row-query';
import { IdempotencyStore } from '../idempotency/idempotency-store';

/** Columns with the values that a row has in them. */
export type Where = Readonly<Record<string, SqlValue>>;

/** A row that the database holds; its content is read at its first use. */
interface CachedRow {
  row?: GovernedRow;
}

/**
 * Reads of a batch from the database. A row that is looked up is read once: nobody else writes while the batch runs.
 */
export class BatchReads {
  /** Rows by kind and key; null if the row does not exist. */
  private readonly rows = new Map<string, CachedRow | null>();
  /** Stored responses for idempotency keys. */
  readonly idempotency: IdempotencyStore;
  /** Characters of free-form content in memory. */
  size = 0;

  constructor(
    readonly connection: SqlConnection,
    readonly catalog: RecordCatalog,
  ) {
    this.idempotency = new IdempotencyStore(connection, catalog.dialect);
  }

  /** Finds a row by the columns of a unique key. */
  async find(kind: AnyRecordKind, key: Where): Promise<GovernedRow | undefined> {
    const name = rowKey(kind, key);
    const row = this.rows.get(name);
    if (row === null) return undefined;
    if (row?.row !== undefined) return row.row;
    const sql = this.catalog.codec(kind).selectWhere(Object.keys(key));
    const [stored] = await this.connection.all(sql, Object.values(key));
    if (stored !== undefined) return this.keep(kind, name, stored);
    this.rows.set(name, null);
    return undefined;
  }

  /** True if a row with this id exists. Does not read it if it is large. */
  async exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    const name = rowKey(kind, { id });
    if (!this.rows.has(name)) await this.prefetch([byId(kind, id)]);
    return (this.rows.get(name) ?? null) !== null;
  }

  /** Reads the announced lookups in one statement per column; for large rows only that they exist. */
  async prefetch(lookups: readonly Lookup[]): Promise<void> {
    const groups = new Map<string, [Lookup, ...Lookup[]]>();
    for (const lookup of lookups) {
      const name = `${lookup.kind.subjectType} ${lookup.column}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [lookup]);
      else group.push(lookup);
    }
    await Promise.all(Array.from(groups.values(), (group) => this.prefetchGroup(group)));
  }

  /** Clears the cache after rows were removed in bulk. */
  forget(): void {
    this.rows.clear();
  }

  private async prefetchGroup(group: readonly [Lookup, ...Lookup[]]): Promise<void> {
    const [{ kind, column }] = group;
    const values = [...new Set(group.map(({ value }) => value))];
    const codec = this.catalog.codec(kind);
    const rows = await this.connection.all(codec.selectSmallAmong([column]), [arraysOfOne(values)]);
    for (const value of values) this.rows.set(rowKey(kind, { [column]: value }), null);
    for (const stored of rows) {
      const name = rowKey(kind, { [column]: String(stored[column]) });
      if (codec.isLarge(stored)) this.note(kind, name, String(stored['id']));
      else this.keep(kind, name, stored);
    }
  }

  private keep(kind: AnyRecordKind, name: string, stored: SqlRow): GovernedRow {
    const codec = this.catalog.codec(kind);
    const row = codec.decode(stored);
    this.size += codec.sizeOf(stored);
    this.note(kind, name, row.id).row = row;
    return row;
  }

  /** Caches the row under its id as well: a row found by another key is looked up again by its id. */
  private note(kind: AnyRecordKind, name: string, id: string): CachedRow {
    const nameOfId = rowKey(kind, { id });
    const row = this.rows.get(nameOfId) ?? {};
    this.rows.set(nameOfId, row);
    this.rows.set(name, row);
    return row;
  }
}

/** Names a row by its values in some columns. */
function rowKey({ subjectType }: AnyRecordKind, key: Where): string {
  return JSON.stringify([subjectType, ...Object.entries(key).sort()]);
}

/** Most cached queries of a batch; with more, the cache is cleared. */
const MAX_CACHED_ROWS = 5_000;

/** The keys of cached queries that depend on rows with some values in these columns, by the values. */
interface Dependents {
  readonly columns: readonly string[];
  readonly namesByValues: Map<string, Set<string>>;
}

/** Caches query results until their rows change. */
export class RowQueryCache {
  /** Found rows by query key. */
  private readonly results = new Map<string, readonly unknown[]>();
  /** Cached queries that depend on rows of a kind, by the columns that they name: a changed row is looked up in each. */
  private readonly dependents = new Map<AnyRecordKind, Map<string, Dependents>>();

  constructor(private readonly connection: Pick<SqlSessions, 'all'>) {}

  /**
   * Returns the rows of each query, and reads the queries that are not cached.
   * @param flush writes everything that was changed before
   */
  async read<Found>(queries: readonly RowQuery[], flush?: () => Promise<void>): Promise<readonly (readonly Found[])[]> {
    if (this.results.size > MAX_CACHED_ROWS) this.clear();
    const missing = new Map(queries.map((query) => [queryKey(query), query]));
    for (const name of missing.keys()) if (this.results.has(name)) missing.delete(name);
    if (missing.size > 0) await flush?.();
    const rows = await runRowQueries(this.connection, [...missing.values()]);
    for (const [index, [name, query]] of [...missing].entries()) {
      this.results.set(name, rows[index] ?? []);
      for (const dependency of query.dependsOn) this.addDependent(name, dependency);
    }
    return queries.map((query) => (this.results.get(queryKey(query)) ?? []) as readonly Found[]);
  }

  /**
   * Forgets the queries that a changed row may affect. The previous values of the row are unknown here. @param row null
   * if the row was removed or erased
   */
  forget(kind: AnyRecordKind, row: GovernedRow | null): void {
    const ofKind = this.dependents.get(kind);
    for (const { columns, namesByValues } of ofKind?.values() ?? []) {
      const affected = row === null ? [...namesByValues.keys()] : [valuesIn(row, columns)];
      for (const key of affected) {
        for (const name of namesByValues.get(key) ?? []) this.results.delete(name);
        namesByValues.delete(key);
      }
    }
  }

  private clear(): void {
    this.results.clear();
    this.dependents.clear();
  }

  private addDependent(name: string, { kind, values }: RowQuery['dependsOn'][number]): void {
    const ofKind = this.dependents.get(kind) ?? new Map<string, Dependents>();
    this.dependents.set(kind, ofKind);
    const columns = Object.keys(values);
    const columnsKey = JSON.stringify(columns);
    const { namesByValues } = ofKind.get(columnsKey) ?? { namesByValues: new Map<string, Set<string>>() };
    ofKind.set(columnsKey, { columns, namesByValues });
    const valuesKey = JSON.stringify(Object.values(values));
    const names = namesByValues.get(valuesKey) ?? new Set<string>();
    namesByValues.set(valuesKey, names.add(name));
  }
}

function valuesIn(row: GovernedRow, columns: readonly string[]): string {
  return JSON.stringify(columns.map((column): unknown => Reflect.get(row, column)));
}

/** True if a row has these values in these columns. */
export function hasValues(row: GovernedRow, values: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(values).every(([column, value]) => Reflect.get(row, column) === value);
}

/** Returns a key with the name of the query, because the text of its statement is long. */
function queryKey({ name, key }: RowQuery): string {
  return name + JSON.stringify(key);
}
