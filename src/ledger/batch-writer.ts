import { quoted, type Dialect } from '../database/dialect';
import type { SqlConnection, SqlValue } from '../database/sql-connection';
import type { OwnedRemoval } from './command-transaction';
import { ENTRY_COLUMNS, entryValues } from './entry-columns';
import type { StoredEntry } from './hash-chain';
import type { LedgerPosition } from './ledger-position';
import type { RecordCodec } from './record-codec';
import type { RowChange } from './row-overlay';
import { equalities, insertRows, moveCounters } from './statements';

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5 WHERE "id" = 1`;

/** Writes a batch in few statements: each takes all its rows as one JSON parameter, which costs the event loop little. */
export class BatchWriter {
  private readonly counts = new Map<string, number>();
  private wrote = false;

  private readonly insertEntries: string;
  private readonly moveCounters: string;

  constructor(
    private readonly connection: SqlConnection,
    dialect: Dialect,
  ) {
    this.insertEntries = insertRows(dialect, 'ledger_entries', ENTRY_COLUMNS);
    this.moveCounters = moveCounters(dialect);
  }

  count(steps: ReadonlyMap<string, number>): void {
    for (const [name, step] of steps) this.counts.set(name, (this.counts.get(name) ?? 0) + step);
  }

  async removeOwned(removals: readonly OwnedRemoval[]): Promise<void> {
    for (const { codec, where } of removals) {
      const sql = `DELETE FROM ${quoted(codec.table)} WHERE ${equalities(Object.keys(where))}`;
      await this.connection.run(sql, Object.values(where));
    }
  }

  /** Removes before it adds, what belongs to others first; adds owners first. So no reference ever dangles. */
  async writeRows(changes: readonly RowChange[], order: Iterable<RecordCodec>): Promise<void> {
    const groups = [...order].map((codec) => new KindChanges(codec, changes)).filter((group) => group.isNeeded);
    for (const { codec, removed } of [...groups].reverse()) await this.write(codec.deleteRows, removed);
    for (const { codec, changed, added } of groups) {
      await this.write(codec.updateRows, changed);
      await this.write(codec.insertRows, added);
    }
  }

  async writeEntries(entries: readonly StoredEntry[]): Promise<void> {
    await this.write(this.insertEntries, entries.map(entryValues));
    this.wrote ||= entries.length > 0;
  }

  /** Answers false, and does nothing, when no entry was written. */
  async moveHead({ sequence, hash, timestamp, lastUlid, effectSequence }: LedgerPosition): Promise<boolean> {
    if (!this.wrote) return false;
    const steps = [...this.counts].filter(([, step]) => step !== 0);
    await this.write(this.moveCounters, steps);
    await this.connection.run(MOVE_HEAD, [sequence, hash, timestamp, lastUlid, effectSequence]);
    return true;
  }

  private async write(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<void> {
    if (rows.length > 0) await this.connection.run(sql, [JSON.stringify(rows)]);
  }
}

/** The changes to one kind, as the rows of its three statements. */
class KindChanges {
  readonly removed: SqlValue[][] = [];
  readonly changed: (readonly SqlValue[])[] = [];
  readonly added: (readonly SqlValue[])[] = [];

  constructor(
    readonly codec: RecordCodec,
    changes: readonly RowChange[],
  ) {
    for (const change of changes) {
      if (change.codec !== codec) continue;
      if (change.encoded === null) this.removed.push([change.id]);
      else (change.isNew ? this.added : this.changed).push(change.encoded.values);
    }
  }

  get isNeeded(): boolean {
    return this.removed.length + this.changed.length + this.added.length > 0;
  }
}
