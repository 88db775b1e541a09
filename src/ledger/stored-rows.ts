import type { SqlConnection, SqlValue } from '../database/sql-connection';
import type { Lookup } from './lookup';
import type { RecordCatalog } from './record-catalog';
import type { AnyRecordKind, GovernedRow } from './record-kind';
import { arraysOfOne } from './statements';

type Key = Readonly<Record<string, SqlValue>>;

/** Rows as the database below a batch holds them, each read once: nobody else writes while the batch runs. */
export class StoredRows {
  private readonly rows = new Map<string, GovernedRow | undefined>();

  constructor(
    private readonly connection: SqlConnection,
    private readonly catalog: RecordCatalog,
  ) {}

  /** By the columns of a unique key. */
  async find(kind: AnyRecordKind, key: Key): Promise<GovernedRow | undefined> {
    const name = nameOf(kind, key);
    if (this.rows.has(name)) return this.rows.get(name);
    const [row] = await this.select(kind, key);
    this.keep(kind, key, row);
    return row;
  }

  async select(kind: AnyRecordKind, where: Key): Promise<GovernedRow[]> {
    const codec = this.catalog.codec(kind);
    const rows = await this.connection.all(codec.selectWhere(Object.keys(where)), Object.values(where));
    return rows.map((row) => codec.decode(row));
  }

  /** Reads what will be looked up, in one statement for each column it is looked up by. */
  async prefetch(lookups: readonly Lookup[]): Promise<void> {
    const groups = new Map<string, Lookup[]>();
    for (const lookup of lookups) {
      const name = `${lookup.kind.subjectType} ${lookup.column}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [lookup]);
      else group.push(lookup);
    }
    await Promise.all([...groups.values()].map((group) => this.prefetchGroup(group)));
  }

  /** The database has changed below. */
  forget(): void {
    this.rows.clear();
  }

  private async prefetchGroup(group: readonly Lookup[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const { kind, column } = first;
    const codec = this.catalog.codec(kind);
    const values = new Set(group.map(({ value }) => value));
    const rows = await this.connection.all(codec.selectAmong(column), [arraysOfOne(values)]);
    for (const value of values) this.rows.set(nameOf(kind, { [column]: value }), undefined);
    for (const row of rows) this.keep(kind, { [column]: String(row[column]) }, codec.decode(row));
  }

  /** Under its id as well: what is found by another key is looked up again by that. */
  private keep(kind: AnyRecordKind, key: Key, row: GovernedRow | undefined): void {
    this.rows.set(nameOf(kind, key), row);
    if (row !== undefined) this.rows.set(nameOf(kind, { id: row.id }), row);
  }
}

function nameOf(kind: AnyRecordKind, key: Key): string {
  return JSON.stringify([kind.subjectType, key]);
}
