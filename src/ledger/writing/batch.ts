import { quoted } from '../database/dialect';
import type { SqlConnection, SqlStatement } from '../database/sql-connection';
import { BatchSql, type LedgerSql, LEFTOVER_CHUNK } from './batch-sql';
import { entryCounts } from '../records/counter-name';
import { SYSTEM_CALLER } from '../caller';
import { seal, type StoredEntry } from '../chain/hash-chain';
import type { LedgerPosition } from '../chain/ledger-position';
import type { SideWrite } from '../ledger-transaction';
import { leafHash, type TreeFrontier, type TreeNode, treeOf } from '../merkle/tree';
import { type OwnedRemoval, type PendingChanges, type PendingEntry, WriteBuffer } from './pending-changes';
import type { RecordCatalog } from '../records/record-catalog';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import { equalities } from '../records/statements';
import type { ReadCache, Where } from './read-cache';
import { inSlices, Slices } from '../../core/concurrency/slices';
import { UlidSequence } from '../chain/ulid-sequence';

/** Entries of a command that are sealed in chunks. */
const MANY = 100;
/** Keys by which one statement reads rows. */
const READ_AT_ONCE = 250;
/** Characters of stored states after which a batch takes no further command: limits what one transaction sends. */
const FULL = 8 * 1024 * 1024;

/** The commands of one database transaction: what they changed so far, and what they read from the database. */
export class Batch {
  readonly rows = new WriteBuffer();
  readonly ulids: UlidSequence;
  private readonly writer: BatchSql;
  private readonly tree: TreeFrontier;
  private entries: StoredEntry[] = [];
  private nodes: TreeNode[] = [];
  private removals: OwnedRemoval[] = [];
  private size = 0;
  private flushing: Promise<void> | null = null;
  /** Changes of rows that are not records. */
  readonly sideWrites: SideWrite[] = [];
  /** True when rows are left to be deleted after the commit. */
  leavesRows = false;

  constructor(
    private readonly connection: SqlConnection,
    sql: LedgerSql,
    readonly catalog: RecordCatalog,
    private readonly stored: ReadCache,
    public position: LedgerPosition,
  ) {
    this.ulids = new UlidSequence(position.lastUlid);
    this.tree = treeOf(position);
    this.writer = new BatchSql(connection, sql);
  }

  get isFull(): boolean {
    return this.size > FULL || this.stored.isFull;
  }

  /** Merges what a finished command changed, and seals its entries. Returns null when there is nothing to wait for. */
  join(command: PendingChanges): Promise<void> | null {
    if (command.entries.length > MANY) return this.joinInSlices(command);
    for (const pending of command.entries) this.addEntry(pending);
    this.writer.count(command.counts);
    for (const change of command.rows.all) this.rows.put(change);
    return this.joined(command);
  }

  private async joinInSlices(command: PendingChanges): Promise<void> {
    const slices = Slices.ofWrite();
    for (const pending of command.entries) {
      this.addEntry(pending);
      if (slices.areDue) await slices.next();
    }
    this.writer.count(command.counts);
    for (const change of command.rows.all) {
      this.rows.put(change);
      if (slices.areDue) await slices.next();
    }
    await this.joined(command);
  }

  private joined(command: PendingChanges): Promise<void> | null {
    if (command.effects.length > 0) this.position = { ...this.position, effectSequence: this.position.sequence };
    this.sideWrites.push(...command.sideWrites);
    if (command.ownedRemovals.length === 0) return null;
    this.removals.push(...command.ownedRemovals);
    this.leavesRows ||= command.ownedRemovals.some(({ count }) => count > LEFTOVER_CHUNK);
    return this.flush();
  }

  /**
   * Writes what was merged, so that statements on the connection see it. One after another: a command that reads several
   * things at once would send the same rows twice.
   */
  flush(): Promise<void> {
    this.flushing = this.flushing === null ? this.sendMerged() : this.flushing.then(() => this.sendMerged());
    return this.flushing;
  }

  /** The last flush, which follows those before it: no other command may begin before it is over. */
  get flushed(): Promise<void> | null {
    return this.flushing;
  }

  /** Until a flush is over, the rows that it writes are neither among the merged ones nor in the database. */
  private afterFlush<Found>(read: () => Promise<Found>): Promise<Found> {
    return this.flushing === null ? read() : this.flushing.then(read);
  }

  private async sendMerged(): Promise<void> {
    await this.sendAll();
    await this.writer.send();
  }

  /**
   * Writes the rest, moves the head, and runs the given statements. They are one list: SQLite ends the transaction by
   * itself when some statements fail, and one sent separately would then take effect alone.
   * @returns false when no entry was written.
   */
  async finish(others: readonly SqlStatement[]): Promise<boolean> {
    await this.sendAll();
    this.position = { ...this.position, frontier: this.tree.text };
    const hasChanged = this.writer.moveHead(this.position);
    this.writer.addAll(this.sideWrites);
    this.writer.addAll(others);
    await this.writer.send();
    return hasChanged;
  }

  readById(kind: AnyRecordKind, id: string): Promise<GovernedRow | undefined> {
    return this.afterFlush(() => this.stored.find(kind, { id }));
  }

  exists(kind: AnyRecordKind, id: string): Promise<boolean> {
    return this.afterFlush(() => this.stored.exists(kind, id));
  }

  readByKey(kind: AnyRecordKind, key: Where): Promise<GovernedRow | undefined> {
    return this.afterFlush(() => this.stored.find(kind, key));
  }

  async readAmong(
    kind: AnyRecordKind,
    columns: readonly string[],
    keys: readonly (readonly string[])[],
  ): Promise<GovernedRow[]> {
    const codec = this.catalog.codec(kind);
    const sql = codec.selectAmong(columns);
    const slices = Slices.ofWrite();
    const found: GovernedRow[] = [];
    if (keys.length > 0) await this.flush();
    for (let start = 0; start < keys.length; start += READ_AT_ONCE) {
      const some = JSON.stringify(keys.slice(start, start + READ_AT_ONCE));
      for (const row of await this.connection.all(sql, [some])) found.push(codec.decode(row));
      await slices.next();
    }
    return found;
  }

  async readAll(kind: AnyRecordKind, where: Where): Promise<GovernedRow[]> {
    await this.flush();
    return this.stored.select(kind, where);
  }

  async readNewest(
    kind: AnyRecordKind,
    names: readonly string[],
    where: Where,
    most: number,
  ): Promise<Readonly<Record<string, unknown>>[]> {
    await this.flush();
    return this.stored.selectNewest(kind, names, where, most);
  }

  async countAll(kind: AnyRecordKind, where: Where, greater: Where = {}): Promise<number> {
    await this.flush();
    const { table } = this.catalog.codec(kind);
    const values = Object.values(where);
    const others = Object.keys(greater).map((name, index) => `${quoted(name)} > $${values.length + index + 1}`);
    const conditions = [equalities(Object.keys(where)), ...others].join(' AND ');
    const sql = `SELECT count(*) AS "count" FROM ${quoted(table)} WHERE ${conditions}`;
    const [row] = await this.connection.all<{ count: number | string }>(sql, [...values, ...Object.values(greater)]);
    return Number(row?.count ?? 0);
  }

  /** In slices: a command may have changed thousands of rows. */
  private sendAll(): Promise<void> {
    return inSlices(this.statements(), Slices.ofWrite());
  }

  private *statements(): Generator<void> {
    if (!this.rows.isEmpty || this.removals.length > 0) {
      const changes = this.rows.pending();
      yield* this.writer.writeRows(changes, this.removals, this.catalog.all);
      this.rows.clear();
      this.stored.forget(changes, this.removals);
      this.removals = [];
    }
    yield* this.writer.writeEntries(this.entries);
    this.entries = [];
    yield* this.writer.writeNodes(this.nodes);
    this.nodes = [];
  }

  private addEntry(pending: PendingEntry): void {
    const { caller, note, details, subjectType, sequence, timestamp, ulid } = pending;
    const actor = note.bySystem === true ? SYSTEM_CALLER.actor : caller.actor;
    const entry = seal(
      {
        sequence,
        id: `prv_${ulid}`,
        auditId: `aud_${ulid}`,
        timestamp,
        action: note.action,
        actorType: actor.type,
        actorId: actor.id,
        agentId: note.agentId ?? null,
        entityId: note.entityId ?? null,
        subjectType,
        subjectId: pending.subjectId,
        outcome: note.outcome ?? 'success',
        reason: note.reason ?? null,
        details,
        requestId: caller.requestId,
        ip: caller.ip,
        state: pending.state,
      },
      this.position.hash,
    );
    this.entries.push(entry);
    this.tree.append(leafHash(entry.hash), this.nodes);
    this.writer.count(entryCounts(entry));
    this.size += entry.state?.length ?? 0;
    const { effectSequence, frontier, schemaVersion } = this.position;
    const { last: lastUlid } = this.ulids;
    this.position = { sequence, hash: entry.hash, timestamp, lastUlid, effectSequence, frontier, schemaVersion };
  }
}
