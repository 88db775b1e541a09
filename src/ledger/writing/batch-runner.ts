import type { Database } from '../database/database';
import { firstOfBoth, type BatchTransaction } from './batch-transaction';
import { Batch } from './batch';
import { type LedgerSql, ledgerSql } from './batch-sql';
import type { CommitProof, SqlConnection, SqlValue } from '../database/sql-connection';
import { IdempotencyStore, MOST_ADDED } from '../idempotency/idempotency-store';
import type { LedgerClock } from '../head/ledger-clock';
import type { LedgerPosition } from '../chain/ledger-position';
import type { SideWrite } from '../ledger-transaction';
import type { GatheredCommands, QueuedCommand } from './ledger-queue';
import type { Projections } from './projections';
import type { RecordCatalog } from '../records/record-catalog';
import { CommandRunner, type CommandOutcome } from './command-runner';
import { ReadCache } from './read-cache';
import type { WriterConnection } from './writer-connection';

const SELECT_HASH = `SELECT "hash" AS "found" FROM "ledger_entries" WHERE "sequence" = $1`;
/**
 * Milliseconds after which a batch takes no further command: other processes wait for the head, and a server ends a
 * session that holds a lock and is idle for some seconds.
 */
const LONGEST_HOLD = 500;
/** Milliseconds after which a session that holds the head gets a statement: its server would end it if it were idle. */
const KEPT = 1_000;
/** Milliseconds after which a batch removes expired idempotency keys. */
const TIDYING_INTERVAL = 1_000;

export interface CommittedBatch {
  readonly outcomes: readonly CommandOutcome[];
  /** Commands that have to wait for the next batch. */
  readonly rest: readonly QueuedCommand[];
  readonly position: LedgerPosition;
  /** Milliseconds; null when there was nothing to commit. */
  readonly commitDuration: number | null;
  /** False if only stored answers, or rows aside, were written: these are small enough to fit where no entry does. */
  readonly hasEntries: boolean;
  /** True when dependent rows of removed records are still to be deleted. */
  readonly leavesRows: boolean;
}

type FinishedBatch = Pick<CommittedBatch, 'hasEntries'> & { readonly proof: CommitProof | null };

/** Runs commands one after another in a single database transaction and commits them together. */
export class BatchRunner {
  /** Monotonic milliseconds. */
  private tidiedAt = 0;
  /** Idempotency keys that batches have added since. */
  private addedKeys = 0;
  private readonly commands = new CommandRunner();
  private readonly sql: LedgerSql;
  /** Whose transaction is open. */
  private held: SqlConnection | null = null;
  /** Restarted for each batch, which costs less than a timer for each. */
  private readonly keeping = setTimeout(() => this.keepSession(), KEPT).unref();

  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly transaction: BatchTransaction,
    private readonly projections: Projections,
    private readonly clock: LedgerClock,
  ) {
    this.sql = ledgerSql(database.dialect);
  }

  /** Throws when the batch as a whole failed; then nothing of it is in the database. */
  async commit(commands: GatheredCommands): Promise<CommittedBatch> {
    try {
      return await this.run(commands);
    } finally {
      this.held = null;
    }
  }

  private async run(commands: GatheredCommands): Promise<CommittedBatch> {
    const { dialect } = this.database;
    const connection = await this.writer.current();
    const stored = new ReadCache(connection, this.catalog);
    const kept = new IdempotencyStore(connection, dialect);
    // From here on the server may wait for us in a transaction.
    this.held = connection;
    this.keeping.refresh();
    // Sent together, so that a remote server answers all in one round trip.
    const head = await firstOfBoth(this.transaction.begin(connection), prefetch(commands.all, stored, kept));
    await Promise.all([prefetch(commands.gather(), stored, kept), this.projections.catchUp(connection, head)]);
    const batch = new Batch(connection, this.sql, this.catalog, stored, head);
    const held = performance.now();
    const outcomes: CommandOutcome[] = [];
    for (const command of commands.all) {
      const previous = outcomes.at(-1);
      if (previous !== undefined) {
        // Its effects must be applied, and what it wrote aside committed, before a later command runs.
        if (previous.effects.length > 0 || batch.sideWrites.length > 0 || batch.isFull || kept.isFull) break;
        if (performance.now() - held > LONGEST_HOLD) break;
      }
      const now = this.clock.timeAfter(batch.position.timestamp);
      const outcome = await this.commands.run(batch, kept, command, now);
      outcomes.push(outcome);
      // An abandoned command may have left one under way, which would mix with what the next command writes.
      if (batch.flushed !== null) await batch.flushed;
    }
    const { proof, hasEntries } = await this.finish(connection, batch, kept);
    this.held = null;
    const began = performance.now();
    if (proof === null) await connection.run('ROLLBACK');
    else await this.transaction.commit(connection, proof, batch.position);
    const commitDuration = proof === null ? null : performance.now() - began;
    const rest = commands.all.slice(outcomes.length);
    return { outcomes, rest, position: batch.position, commitDuration, hasEntries, leavesRows: batch.leavesRows };
  }

  /** For commands that change thousands of records, whose work takes seconds. */
  private keepSession(): void {
    if (this.held === null) return;
    // If it fails, so does the next statement of the batch.
    this.held.run('SELECT 1').catch(() => undefined);
    this.keeping.refresh();
  }

  /** Writes everything still pending. The proof is null when there is nothing to commit. */
  private async finish(connection: SqlConnection, batch: Batch, kept: IdempotencyStore): Promise<FinishedBatch> {
    const { sequence, hash, timestamp } = batch.position;
    const began = performance.now();
    this.addedKeys += kept.addedCount;
    const isTidying = began - this.tidiedAt > TIDYING_INTERVAL || this.addedKeys > MOST_ADDED;
    const ofKeys = kept.changes(timestamp, isTidying);
    if (isTidying) [this.tidiedAt, this.addedKeys] = [began, 0];
    const hasEntries = await batch.finish(ofKeys.statements);
    if (hasEntries) return { proof: { sql: SELECT_HASH, parameters: [sequence], found: hash }, hasEntries };
    return { proof: ofKeys.proof ?? (await proofOfLast(connection, batch.sideWrites)), hasEntries };
  }
}

/** Read in the transaction that has made the change. Null when nothing was written aside. */
async function proofOfLast(connection: SqlConnection, writes: readonly SideWrite[]): Promise<CommitProof | null> {
  const last = writes.at(-1);
  if (last === undefined) return null;
  const { sql, parameters } = last.proof;
  const [row] = await connection.all<{ found: SqlValue }>(sql, parameters);
  return { sql, parameters, found: row?.found ?? null };
}

/** Reads what the commands will ask for, in one statement for all of them. */
async function prefetch(commands: readonly QueuedCommand[], stored: ReadCache, kept: IdempotencyStore): Promise<void> {
  const lookups = commands.flatMap(({ lookups: own }) => own);
  const writes = commands.flatMap(({ keyed }) => keyed ?? []);
  if (lookups.length > 0 || writes.length > 0) await Promise.all([stored.prefetch(lookups), kept.prefetch(writes)]);
}
