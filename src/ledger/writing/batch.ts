import type { SqlStatement } from '../database/sql-connection';
import { seal, type UnsealedEntry } from '../chain/hash-chain';
import { ENTRY_COLUMNS, type LedgerPosition } from '../schema/ledger-tables';
import { UlidSequence } from '../chain/random';
import { leafHash, type TreeFrontier, type TreeNode, treeOf } from '../merkle/tree';
import { counterName, CounterSteps, listItems } from '../records/counters';
import { type StoredSum } from '../records/sum-key';
import type { AnyRecordKind, GovernedRow } from '../kinds/record-kind';
import type { EncodedRow, RecordCodec } from '../records/record-codec';
import { TimeSlice } from '../../core/concurrency/time-slice';
import { RowQueryCache, type BatchReads, hasValues, type Where } from './batch-reads';
import { type LedgerSql, ledgerSql } from './ledger-sql';
import { deleteChunkSql, rememberLeftoverSql } from './leftover-statements';

/**
 * Characters of content after which a batch takes no further command. This limits the size of one transaction, and for
 * how long others wait for it.
 */
const FULL = 512 * 1024;

/** The commands of one database transaction: their changes so far, and their reads from the database. */
export class Batch {
  rows = new RowChanges();
  readonly ulids: UlidSequence;
  /** Sums that its commands have changed, by name. */
  readonly storedSums = new Map<string, StoredSum>();
  /** Changes of rows that are not records. */
  readonly sideWrites: SqlStatement[] = [];
  /** True if dependent rows of removed records, or erased contents, are left to be deleted after the commit. */
  leavesRows = false;
  /** Cache of row queries; null until a command needs it. */
  private queryCache: RowQueryCache | null = null;
  private readonly begin: number;
  private readonly counts = new CounterSteps();
  private readonly tree: TreeFrontier;
  /** Entries, each as a JSON array of its values. */
  private entries: string[] = [];
  private nodes: TreeNode[] = [];
  private removals: OwnedRemoval[] = [];
  /** The last flush, which follows all earlier ones. No other command may begin before it has ended. */
  flushed: Promise<void> | null = null;
  /** Characters of the states of the entries. */
  private stateSize = 0;

  /** @param position end of the chain, which each entry advances */
  constructor(
    readonly reads: BatchReads,
    public position: LedgerPosition,
  ) {
    this.begin = position.sequence;
    this.ulids = new UlidSequence(position.lastUlid);
    this.tree = treeOf(position);
  }

  get isFull(): boolean {
    return this.reads.size + this.reads.idempotency.size + this.stateSize > FULL;
  }

  get rowQueries(): RowQueryCache {
    return (this.queryCache ??= new RowQueryCache(this.reads.connection));
  }

  /**
   * False if the batch writes only stored responses, or rows without entries. Such a batch does not prove that the disk
   * has room for an entry.
   */
  get hasEntries(): boolean {
    return this.position.sequence > this.begin;
  }

  /** Merges the changes of a finished command, and seals its entries. */
  async join(command: PendingChanges): Promise<void> {
    const turn = new TimeSlice(true);
    for (const [index, unsealed] of command.entries.entries()) {
      if (index > 0 && turn.isOver) await turn.next();
      const entry = seal(unsealed, this.position.hash);
      this.entries.push(JSON.stringify(ENTRY_COLUMNS.map(({ name }) => entry[name])));
      this.tree.append(leafHash(entry.hash), this.nodes);
      this.stateSize += entry.state?.length ?? 0;
      const { sequence, hash, timestamp } = entry;
      this.position = { ...this.position, sequence, hash, timestamp };
    }
    for (const change of command.rows.all) {
      this.rows.put(change);
      this.queryCache?.forget(change.codec.kind, change.isErased ? null : change.row);
    }
    this.counts.addAll(command.counts);
    if (command.effects.length > 0) this.position = { ...this.position, effectSequence: this.position.sequence };
    this.sideWrites.push(...command.sideWrites);
    for (const [name, sum] of command.storedSums) this.storedSums.set(name, sum);
    this.leavesRows ||= command.erased.size > 0;
    if (command.ownedRemovals.length > 0) await this.removeOwned(command.ownedRemovals);
  }

  /**
   * Writes all merged changes, so that statements on the connection see them. Flushes run one after another: a command
   * that reads several things at once would otherwise send the same rows twice.
   */
  flush(): Promise<void> {
    const send = async (): Promise<void> => this.reads.connection.runAll(await this.unwritten());
    this.flushed = this.flushed === null ? send() : this.flushed.then(send);
    return this.flushed;
  }

  /**
   * Writes the rest, moves the head, and runs the given statements, before the writes without entries: an erasure
   * removes responses that an earlier command of the batch stores. All are sent as one list: SQLite ends the
   * transaction by itself if some statements fail, and a statement sent separately would then take effect alone.
   */
  async finish(keyStatements: readonly SqlStatement[]): Promise<void> {
    const statements = await this.unwritten();
    const sql = ledgerSql(this.reads.catalog.dialect);
    const sums = Array.from(this.storedSums.values(), ({ sum, window, key, value }) =>
      JSON.stringify([sum, window, key, value]),
    );
    statements.push(...rowStatements(sql.keepSums, sums));
    if (this.hasEntries) {
      this.position = { ...this.position, lastUlid: this.ulids.last, frontier: this.tree.text };
      statements.push(...headStatements(sql, this.counts, this.position));
    }
    await this.reads.connection.runAll([...statements, ...keyStatements, ...this.sideWrites]);
  }

  private async removeOwned(removals: readonly OwnedRemoval[]): Promise<void> {
    this.removals.push(...removals);
    // The first row is always deleted.
    this.leavesRows ||= removals.some(({ count }) => count > 1);
    await this.flush();
    // Cached dependent rows no longer exist.
    this.rows = new RowChanges();
    this.reads.forget();
  }

  private unwritten(): Promise<SqlStatement[]> {
    const { entries, nodes, removals } = this;
    const changes = this.rows.takeUnwritten();
    [this.entries, this.nodes, this.removals] = [[], [], []];
    const { catalog } = this.reads;
    return batchStatements(ledgerSql(catalog.dialect), { changes, removals, entries, nodes }, catalog.all);
  }
}

/** Rows that are removed with their owner. */
interface OwnedRemoval {
  readonly codec: RecordCodec;
  readonly ownerId: string;
  readonly count: number;
}

/** Effect of a commit; a returned promise is awaited. */
export type AfterCommit = () => unknown;

/** A changed row; `row` is null once the row is removed. */
interface RowChange {
  readonly codec: RecordCodec;
  readonly id: string;
  readonly row: GovernedRow | null;
  readonly encoded: EncodedRow | null;
  /** True if the database does not hold the row yet. */
  readonly isNew: boolean;
  /** True if columns change that otherwise never do. */
  readonly isErased: boolean;
}

/** Changed rows, by id. Rows that the database does not hold yet must be written. */
class RowChanges {
  private readonly changes = new Map<string, RowChange>();
  private readonly unwritten = new Set<string>();

  get(id: string): RowChange | undefined {
    return this.changes.get(id);
  }

  /** @param key columns of one of the kind's unique keys */
  findBy(kind: AnyRecordKind, key: Where): RowChange | undefined {
    // Iterates without a copy of the changes, because each command of a batch looks here before it asks the database.
    for (const change of this.changes.values())
      if (change.codec.kind === kind && change.row !== null && hasValues(change.row, key)) return change;
    return undefined;
  }

  put(change: RowChange): void {
    const { id } = change;
    const earlier = this.changes.get(id);
    const isOther = earlier !== undefined && (earlier.isNew !== change.isNew || earlier.isErased);
    const isErased = change.isErased || (isOther && earlier.isErased);
    this.changes.set(id, isOther ? { ...change, isNew: earlier.isNew, isErased } : change);
    this.unwritten.add(id);
  }

  get all(): Iterable<RowChange> {
    return this.changes.values();
  }

  touches(kind: AnyRecordKind): boolean {
    return [...this.changes.values()].some((change) => change.codec.kind === kind);
  }

  /**
   * Returns the changes to write, without rows that were created and removed again. From now on they count as written.
   */
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

/** Everything that a finished command adds to its batch. */
export class PendingChanges {
  readonly rows = new RowChanges();
  readonly entries: UnsealedEntry[] = [];
  readonly ownedRemovals: OwnedRemoval[] = [];
  /** Ids of erased records, whose contents must be erased from the entries about them. */
  readonly erased = new Set<string>();
  readonly sideWrites: SqlStatement[] = [];
  readonly counts = new CounterSteps();
  /** Changed sums by name. */
  readonly storedSums = new Map<string, StoredSum>();
  /** Effects on memory once the command is on disk. */
  readonly effects: AfterCommit[] = [];
}

/** Returns the changed row; undefined if it is removed, or of another kind. */
export function changedRow(change: RowChange, kind: AnyRecordKind): GovernedRow | undefined {
  return change.codec.kind === kind ? (change.row ?? undefined) : undefined;
}

/** Most rows of one statement, more than ordinary batches have. */
const AT_ONCE = 1_000;

/** Writes of a batch's transaction, besides its head, counters and stored responses. */
interface UnwrittenBatch {
  readonly changes: readonly RowChange[];
  readonly removals: readonly OwnedRemoval[];
  readonly entries: readonly string[];
  /** Subtrees that the entries have completed. */
  readonly nodes: readonly TreeNode[];
}

/**
 * Returns the statements that write a batch. Each takes all its rows as one JSON parameter, which is built in turns and
 * costs the event loop little. Removals precede additions; dependent rows are removed first, and owners are added
 * first.
 */
async function batchStatements(
  sql: LedgerSql,
  { changes, removals, entries, nodes }: UnwrittenBatch,
  order: readonly RecordCodec[],
): Promise<SqlStatement[]> {
  const rows = new Map<string, string[]>();
  const add = (written: string, row: string): void => {
    const others = rows.get(written) ?? [];
    others.push(row);
    rows.set(written, others);
  };
  for (const change of changes) addRows(sql, change, add);
  for (const entry of entries) add(sql.insertEntries, entry);
  for (const { level, position, hash } of nodes) add(sql.insertNodes, JSON.stringify([level, position, hash]));
  const ordered = [
    ...order.toReversed().map(({ deleteRows }) => deleteRows),
    ...order.flatMap(({ updateRows, insertRows }) => [updateRows, insertRows]),
    ...[sql.deleteItems, sql.insertItems, sql.insertEntries, sql.insertNodes],
  ];
  const statements = removals.flatMap(removalStatements);
  const turn = new TimeSlice(true);
  for (const written of ordered) {
    for (const statement of rowStatements(written, rows.get(written))) {
      statements.push(statement);
      if (turn.isOver) await turn.next();
    }
  }
  return statements;
}

function removalStatements({ codec, ownerId, count }: OwnedRemoval): SqlStatement[] {
  const chunk = { sql: deleteChunkSql(codec), parameters: [ownerId] };
  const rest = { sql: rememberLeftoverSql(codec), parameters: [codec.kind.subjectType, ownerId] };
  return count > 1 ? [chunk, rest] : [chunk];
}

/** Adds a changed row and the items of its lists to the statements that write them. */
function addRows(sql: LedgerSql, change: RowChange, add: (written: string, row: string) => void): void {
  const { codec, id, row, encoded, isNew, isErased } = change;
  // An erased row is replaced, because an update does not write all columns.
  const isReplaced = isErased && !isNew;
  if (encoded === null || isReplaced) add(codec.deleteRows, JSON.stringify([id]));
  if (encoded !== null) add(isNew || isReplaced ? codec.insertRows : codec.updateRows, encoded.row);
  const { kind } = codec;
  if (kind.listColumns === undefined) return;
  if (!isNew) add(sql.deleteItems, JSON.stringify([id]));
  if (row === null) return;
  for (const { column, value } of listItems(kind, row))
    add(sql.insertItems, JSON.stringify([counterName(kind.counter, column, value), row.createdSequence, id]));
}

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

/** Returns statements that move the counters, delete those at zero, and move the head. */
function headStatements(sql: LedgerSql, counts: CounterSteps, head: LedgerPosition): SqlStatement[] {
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  const steps = [...counts].filter(([, step]) => step !== 0);
  const rowsOf = (some: typeof steps): string[] => some.map((step) => JSON.stringify(step));
  return [
    ...rowStatements(sql.moveCounters, rowsOf(steps)),
    ...rowStatements(sql.deleteCounters, rowsOf(steps.filter(([, step]) => step < 0))),
    { sql: MOVE_HEAD, parameters: [sequence, hash, timestamp, lastUlid, effectSequence, frontier] },
  ];
}

/** @param rows rows, each a JSON array */
function* rowStatements(sql: string, rows: readonly string[] = []): Generator<SqlStatement> {
  for (let start = 0; start < rows.length; start += AT_ONCE)
    yield { sql, parameters: [`[${rows.slice(start, start + AT_ONCE).join()}]`] };
}
