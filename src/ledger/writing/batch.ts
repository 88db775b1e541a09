import type { SqlConnection, SqlStatement, SqlValue } from '../database/sql-connection';
import { seal, type UnsealedEntry } from '../chain/hash-chain';
import type { StoredEntry } from '../chain/stored-entry';
import { ENTRY_COLUMNS, type LedgerPosition } from '../schema/ledger-tables';
import { UlidSequence } from '../chain/random';
import { IdempotencyStore } from '../idempotency/idempotency-store';
import { leafHash, type TreeFrontier, type TreeNode, treeOf } from '../merkle/tree';
import { counterName, CounterSteps, listItems } from '../records/counters';
import { type KeptSum } from '../records/sum-key';
import type { RecordCatalog } from '../records/record-catalog';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { EncodedRow, RecordCodec } from '../records/record-codec';
import { Turn } from '../../core/concurrency/turn';
import { AskedRows, BatchReads, nameOf, type Where } from './batch-reads';
import { type LedgerSql, ledgerSql } from './ledger-sql';
import { deleteChunkSql, ERASED, LEFTOVER_CHUNK, REMEMBER_LEFTOVER } from './leftover-statements';

/** Characters of content after which a batch takes no further command: limits what one transaction holds and sends. */
const FULL = 16 * 1024 * 1024;

/** What a batch reads and writes with. */
export interface BatchMeans {
  readonly connection: SqlConnection;
  readonly catalog: RecordCatalog;
  readonly reads: BatchReads;
  /** The answers for idempotency keys. */
  readonly kept: IdempotencyStore;
}

/** For one transaction on the connection. */
export function batchMeans(connection: SqlConnection, catalog: RecordCatalog): BatchMeans {
  const reads = new BatchReads(connection, catalog);
  return { connection, catalog, reads, kept: new IdempotencyStore(connection, catalog.dialect) };
}

/** The commands of one database transaction: what they changed so far, and what they read from the database. */
export class Batch {
  rows = new RowChanges();
  readonly ulids: UlidSequence;
  /** Those that its commands have changed, by name. */
  readonly keptSums = new Map<string, KeptSum>();
  /** Changes of rows that are not records. */
  readonly sideWrites: SqlStatement[] = [];
  /** True when dependent rows of removed records, or what was erased, are left to be deleted after the commit. */
  leavesRows = false;
  /** Null until a command asks. */
  private asked: AskedRows | null = null;
  private readonly begin: number;
  private readonly counts = new CounterSteps();
  private readonly tree: TreeFrontier;
  private entries: StoredEntry[] = [];
  private nodes: TreeNode[] = [];
  private removals: OwnedRemoval[] = [];
  private erased: ErasedSubject[] = [];
  private flushing: Promise<void> | null = null;
  /** Characters of the states of its entries. */
  private stateSize = 0;

  /** @param position the end of the chain, which each entry moves. */
  constructor(
    readonly means: BatchMeans,
    public position: LedgerPosition,
  ) {
    this.begin = position.sequence;
    this.ulids = new UlidSequence(position.lastUlid);
    this.tree = treeOf(position);
  }

  get isFull(): boolean {
    const { reads, kept } = this.means;
    return reads.size + kept.size + this.stateSize > FULL;
  }

  get askedRows(): AskedRows {
    return (this.asked ??= new AskedRows(this.means.connection));
  }

  /** False if only stored answers, or rows aside, are written: these are small enough to fit where no entry does. */
  get hasEntries(): boolean {
    return this.position.sequence > this.begin;
  }

  /** Merges what a finished command changed, and seals its entries. */
  async join(command: PendingChanges): Promise<void> {
    const turn = new Turn(true);
    for (const [index, unsealed] of command.entries.entries()) {
      if (index > 0 && turn.isOver) await turn.next();
      const entry = seal(unsealed, this.position.hash);
      this.entries.push(entry);
      this.tree.append(leafHash(entry.hash), this.nodes);
      this.stateSize += entry.state?.length ?? 0;
      const { sequence, hash, timestamp } = entry;
      this.position = { ...this.position, sequence, hash, timestamp };
    }
    for (const change of command.rows.all) {
      this.rows.put(change);
      this.asked?.forget(change.codec.kind, change.isErased ? null : change.row);
    }
    this.counts.addAll(command.counts);
    if (command.effects.length > 0) this.position = { ...this.position, effectSequence: this.position.sequence };
    this.sideWrites.push(...command.sideWrites);
    for (const [name, sum] of command.keptSums) this.keptSums.set(name, sum);
    this.erased.push(...command.erased);
    this.leavesRows ||= command.erased.length > 0;
    if (command.ownedRemovals.length > 0) await this.removeOwned(command.ownedRemovals);
  }

  /**
   * Writes what was merged, so that statements on the connection see it. One after another: a command that reads several
   * things at once would send the same rows twice.
   */
  flush(): Promise<void> {
    const send = async (): Promise<void> => this.means.connection.runAll(await this.unwritten());
    this.flushing = this.flushing === null ? send() : this.flushing.then(send);
    return this.flushing;
  }

  /** The last flush, which follows those before it: no other command may begin before it is over. */
  get flushed(): Promise<void> | null {
    return this.flushing;
  }

  /** The server would end the session if it were idle for long. If this fails, so does the next statement. */
  keepSession(): void {
    this.means.connection.run('SELECT 1').catch(() => undefined);
  }

  /**
   * Writes the rest, moves the head, and runs the given statements, before what is written aside: an erasure removes
   * answers that an earlier command of the batch keeps. They are one list: SQLite ends the transaction by itself when some
   * statements fail, and one sent separately would then take effect alone.
   */
  async finish(kept: readonly SqlStatement[]): Promise<void> {
    const statements = await this.unwritten();
    const sql = ledgerSql(this.means.catalog.dialect);
    const sums = Array.from(this.keptSums.values(), ({ sum, window, key, value }) => [sum, window, key, value]);
    statements.push(...rowStatements(sql.keepSums, sums));
    if (this.hasEntries) {
      this.position = { ...this.position, lastUlid: this.ulids.last, frontier: this.tree.text };
      statements.push(...headStatements(sql, this.counts, this.position));
    }
    await this.means.connection.runAll([...statements, ...kept, ...this.sideWrites]);
  }

  private async removeOwned(removals: readonly OwnedRemoval[]): Promise<void> {
    this.removals.push(...removals);
    this.leavesRows ||= removals.some(({ count }) => count > LEFTOVER_CHUNK);
    await this.flush();
    // Dependent rows that are known here are gone.
    this.rows = new RowChanges();
    this.means.reads.forget();
  }

  private async unwritten(): Promise<SqlStatement[]> {
    const { entries, nodes, removals, erased } = this;
    const changes = this.rows.takeUnwritten();
    [this.entries, this.nodes, this.removals, this.erased] = [[], [], [], []];
    const statements: SqlStatement[] = [];
    const turn = new Turn(true);
    const { catalog } = this.means;
    const unwritten = { changes, removals, erased, entries, nodes };
    for (const statement of batchStatements(ledgerSql(catalog.dialect), unwritten, catalog.all)) {
      if (statements.length > 0 && turn.isOver) await turn.next();
      statements.push(statement);
    }
    return statements;
  }
}

/** Rows that are removed with their owner. */
export interface OwnedRemoval {
  readonly codec: RecordCodec;
  readonly ownerId: string;
  readonly count: number;
}

/** A record whose contents are to be taken from the entries about it. */
export interface ErasedSubject {
  readonly subjectType: string;
  readonly id: string;
}

/** What follows from a commit; a promise is waited for. */
export type AfterCommit = () => unknown;

/** A row that differs from what the database held before. `row` is null once it is removed. */
export interface RowChange {
  readonly codec: RecordCodec;
  readonly id: string;
  readonly row: GovernedRow | null;
  readonly encoded: EncodedRow | null;
  /** True when the database does not hold the row yet. */
  readonly isNew: boolean;
  /** True when columns change that otherwise never do. */
  readonly isErased: boolean;
}

/** Rows that were changed, by id and by unique key; those that the database does not hold yet have to be written. */
class RowChanges {
  private readonly changes = new Map<string, RowChange>();
  private readonly unwritten = new Set<string>();
  private readonly idsByKey = new Map<string, string>();

  get(id: string): RowChange | undefined {
    return this.changes.get(id);
  }

  /** @param key the columns of one of the kind's unique keys. */
  findBy(kind: AnyRecordKind, key: Where): RowChange | undefined {
    if (this.idsByKey.size === 0) return undefined;
    const id = this.idsByKey.get(nameOf(kind, key));
    return id === undefined ? undefined : this.changes.get(id);
  }

  put(change: RowChange): void {
    const { id } = change;
    const earlier = this.changes.get(id);
    const isOther = earlier !== undefined && (earlier.isNew !== change.isNew || earlier.isErased);
    const isErased = change.isErased || (isOther && earlier.isErased);
    this.changes.set(id, isOther ? { ...change, isNew: earlier.isNew, isErased } : change);
    this.unwritten.add(id);
    const { kind } = change.codec;
    if (change.row === null) return;
    const values = change.row as unknown as Where;
    for (const columns of kind.uniqueKeys ?? []) {
      const key = Object.fromEntries(columns.map((column) => [column, values[column] ?? null]));
      this.idsByKey.set(nameOf(kind, key), id);
    }
  }

  get all(): Iterable<RowChange> {
    return this.changes.values();
  }

  touches(kind: AnyRecordKind): boolean {
    return [...this.changes.values()].some((change) => change.codec.kind === kind);
  }

  /** What has to be written, without rows that were created and removed again. From now on the database holds it. */
  takeUnwritten(): RowChange[] {
    const taken: RowChange[] = [];
    for (const id of this.unwritten) {
      const change = this.changes.get(id);
      if (change === undefined || (change.isNew && change.row === null)) continue;
      taken.push(change);
      if (change.isNew) this.changes.set(id, { ...change, isNew: false });
    }
    this.unwritten.clear();
    return taken;
  }
}

/** Everything that a command which has returned adds to its batch. */
export class PendingChanges {
  readonly rows = new RowChanges();
  readonly entries: UnsealedEntry[] = [];
  readonly ownedRemovals: OwnedRemoval[] = [];
  readonly erased: ErasedSubject[] = [];
  readonly sideWrites: SqlStatement[] = [];
  readonly counts = new CounterSteps();
  /** By name. */
  readonly keptSums = new Map<string, KeptSum>();
  /** Applied to memory once the command is on disk. */
  readonly effects: AfterCommit[] = [];
}

/** The row as changed; undefined if it is removed, or of another kind. */
export function changedRow(change: RowChange, kind: AnyRecordKind): GovernedRow | undefined {
  return change.codec.kind === kind ? (change.row ?? undefined) : undefined;
}

/** Rows of one statement: more than ordinary batches have. */
const AT_ONCE = 1_000;

/** What the transaction of a batch writes besides its head, counters and kept answers. */
interface UnwrittenBatch {
  readonly changes: readonly RowChange[];
  readonly removals: readonly OwnedRemoval[];
  readonly erased: readonly ErasedSubject[];
  readonly entries: readonly StoredEntry[];
  /** The subtrees that the entries have completed. */
  readonly nodes: readonly TreeNode[];
}

/**
 * The statements that write a batch, each of which takes all its rows as one JSON parameter: that costs the event loop
 * little. Removes before it adds; removes dependent rows first, and adds owners first. One by one: there may be
 * thousands of rows.
 */
function* batchStatements(
  sql: LedgerSql,
  { changes, removals, erased, entries, nodes }: UnwrittenBatch,
  order: readonly RecordCodec[],
): Generator<SqlStatement> {
  for (const { codec, ownerId, count } of removals) {
    yield { sql: deleteChunkSql(codec), parameters: [ownerId] };
    if (count > LEFTOVER_CHUNK) yield { sql: REMEMBER_LEFTOVER, parameters: [codec.kind.subjectType, ownerId] };
  }
  for (const { subjectType, id } of erased) {
    yield { sql: REMEMBER_LEFTOVER, parameters: [`${ERASED}${subjectType}`, id] };
  }
  const rows = new Map<string, (readonly SqlValue[])[]>();
  const add = (written: string, values: readonly SqlValue[]): void => {
    const others = rows.get(written) ?? [];
    others.push(values);
    rows.set(written, others);
  };
  for (const { codec, id, encoded, isNew, isErased } of changes) {
    // What is erased is replaced: an update leaves some columns as they are.
    const isReplaced = isErased && !isNew;
    if (encoded === null || isReplaced) add(codec.deleteRows, [id]);
    if (encoded !== null) add(isNew || isReplaced ? codec.insertRows : codec.updateRows, encoded.values);
  }
  for (const { deleteRows } of order.toReversed()) yield* rowStatements(deleteRows, rows.get(deleteRows));
  for (const { updateRows, insertRows } of order)
    for (const written of [updateRows, insertRows]) yield* rowStatements(written, rows.get(written));
  yield* listItemStatements(sql, changes);
  yield* rowStatements(sql.insertEntries, entries.map(entryValues));
  yield* rowStatements(
    sql.insertNodes,
    nodes.map(({ level, position, hash }) => [level, position, hash]),
  );
}

function* listItemStatements(sql: LedgerSql, changes: readonly RowChange[]): Generator<SqlStatement> {
  const changed: SqlValue[][] = [];
  const items: SqlValue[][] = [];
  for (const { codec, id, row, isNew } of changes) {
    const { kind } = codec;
    if (kind.listColumns === undefined) continue;
    if (!isNew) changed.push([id]);
    if (row === null) continue;
    for (const { column, value } of listItems(kind, row)) {
      items.push([counterName(kind.counter, column, value), row.createdSequence, id]);
    }
  }
  yield* rowStatements(sql.deleteItems, changed);
  yield* rowStatements(sql.insertItems, items);
}

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

/** Moves the counters, of which those at zero go, and the head. */
function* headStatements(sql: LedgerSql, counts: CounterSteps, head: LedgerPosition): Generator<SqlStatement> {
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  const steps = [...counts].filter(([, step]) => step !== 0);
  yield* rowStatements(sql.moveCounters, steps);
  yield* rowStatements(
    sql.deleteCounters,
    steps.filter(([, step]) => step < 0),
  );
  yield { sql: MOVE_HEAD, parameters: [sequence, hash, timestamp, lastUlid, effectSequence, frontier] };
}

function* rowStatements(sql: string, rows: readonly (readonly SqlValue[])[] = []): Generator<SqlStatement> {
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    yield { sql, parameters: [JSON.stringify(rows.length > AT_ONCE ? rows.slice(start, start + AT_ONCE) : rows)] };
  }
}

function entryValues(entry: StoredEntry): SqlValue[] {
  return ENTRY_COLUMNS.map(({ name }) => entry[name]);
}
