import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database';
import { DatabaseFault, isFault, movedAway } from '../database/database-fault';
import type { CommitProof, SqlConnection, SqlValue } from '../database/sql-connection';
import { failStop, stopContradicted } from '../head/fail-stop';
import { type HeadTracker, lockHead, TOUCH_HEAD } from '../head/head-tracker';
import type { LedgerClock } from '../head/ledger-clock';
import type { LedgerPosition } from '../schema/ledger-tables';
import { Batch } from './batch';
import { BatchReads } from './batch-reads';
import type { Projections } from '../head/projections';
import type { RecordCatalog } from '../records/record-catalog';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { errorMessage } from '../../core/errors/domain-error';
import { SYSTEM_CALLER } from '../kinds/caller';
import { CommandDraft } from './command-draft';

const SELECT_HASH = `SELECT "hash" AS "actual" FROM "ledger_entries" WHERE "sequence" = $1`;
/** Milliseconds between attempts to find out whether a commit took place. */
const CHECK_INTERVAL_MS = 500;
/** Most milliseconds that the end of the process waits until the last known tree is saved. */
const MAX_FAREWELL_MS = 2_000;
/** Most milliseconds that the end of the process waits for readers. */
const MAX_READ_MS = 2_000;

/**
 * The only connection that writes. Its transactions hold the head, and it always finds out whether they were committed.
 * After a failed commit it is dropped and reopened; until a commit or a probe succeeds, the service is unhealthy.
 */
export class WriterConnection {
  private readonly logger = new Logger('Ledger');
  private connection: SqlConnection | null = null;
  hasFailed = false;
  /** Called before the process ends because the chain it knew no longer exists. */
  whenContradicted: (head: LedgerPosition) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly head: HeadTracker,
    private readonly memory: Projections,
    private readonly catalog: RecordCatalog,
    private readonly clock: LedgerClock,
  ) {}

  /** True if a probe is needed: readers may have to follow the writer to another server, even if nobody writes. */
  get needsProbe(): boolean {
    return this.hasFailed || this.connection?.isLost === true;
  }

  /** Returns the connection. Silently replaces one that was lost while idle, for example by a restart of the server. */
  async current(): Promise<SqlConnection> {
    if (this.connection?.isLost === true) await this.close();
    if (this.connection === null) {
      if (!this.database.isInPlace()) throw movedAway();
      this.connection = await this.open();
    }
    return this.connection;
  }

  /** Opens a connection. It may lead to another server, or to a copy in the database's place, so it is checked. */
  private open(): Promise<SqlConnection> {
    return this.database.openWriter(async (connection) => {
      const { sound: soundBefore } = this.head;
      if (soundBefore === null || soundBefore.sequence === 0) return;
      if (!(await holds(connection, proofOf(soundBefore)))) await this.stop(soundBefore);
    });
  }

  private async stop(head: LedgerPosition): Promise<never> {
    await withTimeout(this.whenContradicted(head), MAX_FAREWELL_MS, undefined);
    const { sequence, hash } = head;
    return stopContradicted(
      `THE CHAIN WENT BACK: the database does not hold entry ${sequence} with the hash ${hash}, which this process knows. ` +
        'It is older, as after a failover to a standby that lagged, or was rewritten.',
    );
  }

  /**
   * Locks the head if several processes may write, and returns its position. Throws for a damaged head or a wrong
   * clock.
   * @param meanwhile sends further reads at the same time, so that a remote server answers all in one round trip
   */
  begin(connection: SqlConnection, meanwhile?: () => Promise<void>): Promise<LedgerPosition> {
    return firstOf(
      this.head.check(lockHead(connection, this.database.dialect)),
      // Checked under the lock: no other process can write a later time before this one does.
      this.clock.check(connection),
      meanwhile?.(),
    );
  }

  /** Commits. Throws if, and only if, nothing was committed. */
  async commit(connection: SqlConnection, proof: CommitProof): Promise<void> {
    if (!this.database.isInPlace()) throw movedAway();
    try {
      await connection.commit();
    } catch (error) {
      await this.afterFailedCommit(error, proof);
    }
  }

  /** Finds out whether a failed COMMIT took place, by the row that it would have written: the error does not tell. */
  private async afterFailedCommit(error: unknown, proof: CommitProof): Promise<void> {
    const kind = error instanceof DatabaseFault ? error.kind : 'programming';
    if (kind === 'constraint') throw error;
    if (kind === 'storage') failStop('A commit met a storage error.');
    await this.failed(error);
    if (!(await this.tookPlace(proof))) throw error;
  }

  /**
   * Asks until the database answers, because any earlier response to the callers could be wrong. A server comes back.
   * For a file that was removed or replaced, the outcome remains unknown.
   */
  private async tookPlace(proof: CommitProof): Promise<boolean> {
    while (this.database.isInPlace()) {
      try {
        return await this.isCommitted(proof);
      } catch (error) {
        await this.recoverFrom(error);
        await sleep(CHECK_INTERVAL_MS);
      }
    }
    return failStop('It cannot be found out whether a commit took place.');
  }

  private async isCommitted(proof: CommitProof): Promise<boolean> {
    const connection = await this.current();
    // Waits for a transaction of the lost connection that the server has not ended yet.
    const head = await lockHead(connection, this.database.dialect);
    if (!(await holds(connection, proof))) {
      await connection.run('ROLLBACK');
      return false;
    }
    // Other processes may have written since; the effects of this batch are then older than the rows.
    if (head !== undefined && this.head.accept(head)) await this.memory.catchUp(connection, head);
    // The failed COMMIT may exist on this server alone, if it did not wait for its standby. The next COMMIT waits until
    // the standby has both.
    await connection.run(TOUCH_HEAD);
    await connection.commit();
    return true;
  }

  succeeded(): void {
    if (this.hasFailed) this.logger.log('The database takes writes again.');
    this.hasFailed = false;
  }

  /** Drops the connection; closing it rolls back what it had begun. */
  async failed(cause: unknown): Promise<void> {
    if (!this.hasFailed) this.logger.error(`The database does not take writes: ${errorMessage(cause)}`);
    this.hasFailed = true;
    await this.close();
  }

  /** Ends the transaction of a failed statement, and keeps the connection if possible. */
  async rollBack(): Promise<void> {
    try {
      await (await this.current()).run('ROLLBACK');
    } catch (error) {
      await this.failed(error);
    }
  }

  /** Recovers from a failure. If another process held a lock, the failure says nothing about the database. */
  async recoverFrom(error: unknown): Promise<void> {
    if (isFault(error, 'busy')) await this.rollBack();
    else await this.failed(error);
  }

  /**
   * Finds out whether a write would succeed: the head is sound, memory can follow other processes, the ledger accepts
   * an entry, and a commit reaches the disk.
   */
  async probe(): Promise<void> {
    try {
      if (!(await this.database.hasRoom())) throw new DatabaseFault('unavailable', 'FULL', 'The disk is full.');
      const connection = await this.current();
      const head = await this.head.check(lockHead(connection, this.database.dialect));
      await this.memory.catchUp(connection, head);
      await dryRun(new BatchReads(connection, this.catalog), head);
      await connection.run(TOUCH_HEAD);
      await connection.commit();
      if (!this.database.isInPlace()) throw movedAway();
      this.succeeded();
    } catch (error) {
      await this.recoverFrom(error);
    }
  }

  /** Ends the connection at the end of the process, with nothing left to write. */
  async finish(): Promise<void> {
    if (this.connection !== null && !this.hasFailed) await this.database.truncateLog(this.connection, MAX_READ_MS);
    await this.close();
  }

  async close(): Promise<void> {
    const connection = this.connection;
    this.connection = null;
    try {
      await connection?.close();
    } catch (error) {
      this.logger.error(`Closing the writing connection failed: ${errorMessage(error)}`);
    }
  }
}

/**
 * Awaits all promises and returns the first result. If several fail, throws the first failure: in a failed transaction,
 * every later statement fails only as a consequence.
 */
async function firstOf<Result>(first: Promise<Result>, ...others: (Promise<void> | undefined)[]): Promise<Result> {
  const results = await Promise.allSettled([first, ...others]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return first;
}

/** Returns the proof that the last entry exists with its hash. */
export function proofOf({ sequence, hash }: LedgerPosition): CommitProof {
  return { sql: SELECT_HASH, parameters: [sequence], expected: hash };
}

async function holds(connection: SqlConnection, { sql, parameters, expected }: CommitProof): Promise<boolean> {
  const [row] = await connection.all<{ actual: SqlValue }>(sql, parameters);
  return row?.actual === expected;
}

/**
 * Writes, in a transaction that holds the head, what every batch writes (an entry with its counters, and the head), and
 * rolls it back. Throws if the ledger's tables do not accept it for any reason.
 */
async function dryRun(reads: BatchReads, head: LedgerPosition): Promise<void> {
  const batch = new Batch(reads, head);
  const command = new CommandDraft(batch, SYSTEM_CALLER, head.timestamp);
  command.recordAccessDenied({ type: 'ledger', id: 'ledger' }, {});
  await batch.join(command.pending);
  await reads.connection.run('SAVEPOINT "dry_run"');
  await batch.finish([]);
  await reads.connection.run('ROLLBACK TO "dry_run"');
}
