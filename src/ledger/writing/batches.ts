import { DatabaseFault } from '../database/database-fault';
import { Batch } from './batch';
import { BatchReads } from './batch-reads';
import { CommandDraft } from './command-draft';
import type { CommitProof } from '../database/sql-connection';
import type { LedgerClock } from '../head/ledger-clock';
import type { AnnounceQueries } from '../commands/ledger-transaction';
import type { Projections } from '../head/projections';
import type { RowQuery } from '../records/row-query';
import type { RecordCatalog } from '../records/record-catalog';
import { type CommandOutcome, Commands, type QueuedCommand } from './commands';
import { proofOf, type WriterConnection } from './writer-connection';

/**
 * Milliseconds after which a batch takes no further command: other processes wait for the head, and a server ends an
 * idle session that holds a lock after some seconds.
 */
const MAX_HOLD_MS = 500;
/**
 * Number of prefetched queries after which a batch asks no further command for queries. A command may add up to a
 * thousand, so a batch may exceed this number.
 */
const MAX_PREFETCHED_QUERIES = 1_000;
/** Milliseconds after which a batch removes expired idempotency keys, even if it adds none. */
const TIDYING_INTERVAL_MS = 5_000;

export interface CommittedBatch extends Readonly<Pick<Batch, 'position' | 'hasEntries' | 'leavesRows'>> {
  readonly outcomes: readonly CommandOutcome[];
  /** Commands that must wait for the next batch. */
  readonly rest: readonly QueuedCommand[];
  /** Duration of the commit in milliseconds; null if there was nothing to commit. */
  readonly commitDurationMs: number | null;
}

/** Runs commands one after another in a single database transaction and commits them together. */
export class Batches {
  private readonly commands: Commands;
  /** Time of the last removal of expired idempotency keys, in milliseconds of the monotonic clock. */
  private tidiedAt = 0;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly memory: Projections,
    private readonly clock: LedgerClock,
  ) {
    this.commands = new Commands(memory);
  }

  /**
   * Runs and commits commands.
   * @param queued commands to run; `commit` appends the result of `takeArrivedCommands` to this array
   * @param takeArrivedCommands returns the commands that arrived while the batch waited for the head
   * @throws if the whole batch failed; the database then contains nothing of the batch
   */
  async commit(queued: QueuedCommand[], takeArrivedCommands: () => readonly QueuedCommand[]): Promise<CommittedBatch> {
    const connection = await this.writer.current();
    const reads = new BatchReads(connection, this.catalog);
    const head = await this.writer.begin(connection, () => prefetchLookups(queued, reads));
    // While another process held the lock, many more commands may have arrived.
    const lateCommands = takeArrivedCommands();
    queued.push(...lateCommands);
    const batch = new Batch(reads, head);
    await Promise.all([this.memory.catchUp(connection, head), prefetchLookups(lateCommands, reads)]);
    await this.prefetchRowQueries(batch, queued);
    const outcomes = await this.run(batch, queued);
    const proof = await this.finish(batch);
    const { position, hasEntries, leavesRows } = batch;
    const began = performance.now();
    if (proof === null) await connection.run('ROLLBACK');
    else await this.writer.commit(connection, proof);
    const commitDurationMs = proof === null ? null : performance.now() - began;
    return { outcomes, rest: queued.slice(outcomes.length), position, commitDurationMs, hasEntries, leavesRows };
  }

  /** Writes everything still pending. Returns the proof of the commit; null if there is nothing to commit. */
  private async finish(batch: Batch): Promise<CommitProof | null> {
    const { hasEntries, sideWrites, position } = batch;
    const { idempotency } = batch.reads;
    if (!hasEntries && idempotency.added.size === 0 && sideWrites.length === 0) return null;
    const proof = hasEntries ? proofOf(position) : idempotency.proof(position.timestamp);
    const now = performance.now();
    const isTidying = now - this.tidiedAt > TIDYING_INTERVAL_MS;
    if (isTidying) this.tidiedAt = now;
    await batch.finish(isTidying || idempotency.added.size > 0 ? idempotency.changes(position.timestamp) : []);
    return proof;
  }

  /**
   * Runs the queries that commands announce, and stores their results. Ignores errors of a command's announcement,
   * except `DatabaseFault`, because they occur again when the command runs.
   */
  private async prefetchRowQueries(batch: Batch, queued: readonly QueuedCommand[]): Promise<void> {
    // A single command gains nothing from prefetching.
    if (queued.length === 1) return;
    const queries: RowQuery[] = [];
    const now = this.clock.timeAfter(batch.position.timestamp);
    for (const { announceQueries, caller } of queued) {
      if (queries.length >= MAX_PREFETCHED_QUERIES) break;
      if (announceQueries === undefined) continue;
      queries.push(...(await announcedQueries(announceQueries, new CommandDraft(batch, caller, now))));
    }
    if (queries.length > 0) await batch.rowQueries.read(queries);
  }

  private async run(batch: Batch, queued: readonly QueuedCommand[]): Promise<CommandOutcome[]> {
    const began = performance.now();
    const outcomes: CommandOutcome[] = [];
    for (const command of queued) {
      if (outcomes.length > 0 && (mustCommit(batch, outcomes) || performance.now() - began > MAX_HOLD_MS)) break;
      const outcome = await this.commands.run(batch, command, this.clock.timeAfter(batch.position.timestamp));
      outcomes.push(outcome);
      // An abandoned command may have left a flush under way, which would mix with the writes of the next command.
      if (batch.flushed !== null) await batch.flushed;
    }
    return outcomes;
  }
}

/**
 * True if the batch must be committed before a later command runs: the last command has effects or has written without
 * an entry, or the batch is full.
 */
function mustCommit({ sideWrites, isFull }: Batch, outcomes: readonly CommandOutcome[]): boolean {
  return outcomes.at(-1)?.effects.length !== 0 || sideWrites.length > 0 || isFull;
}

/**
 * Returns the queries that a command announces; no queries if the announcement fails, because the command then fails
 * too.
 * @throws DatabaseFault if the database fails
 */
async function announcedQueries(announce: AnnounceQueries, draft: CommandDraft): Promise<readonly RowQuery[]> {
  try {
    return await announce(draft);
  } catch (error) {
    if (error instanceof DatabaseFault) throw error;
    return [];
  }
}

/** Reads the looked-up records, with one query per table and column, and the idempotency keys of all commands. */
async function prefetchLookups(commands: readonly QueuedCommand[], reads: BatchReads): Promise<void> {
  const lookups = commands.flatMap(({ lookups: own = [] }) => own);
  const writes = commands.flatMap(({ keyed }) => keyed ?? []);
  await Promise.all([
    lookups.length > 0 && reads.prefetch(lookups),
    writes.length > 0 && reads.idempotency.prefetch(writes),
  ]);
}
