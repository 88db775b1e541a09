import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database';
import { DatabaseFault } from '../database/database-fault';
import type { SqlConnection, SqlValue, CommitProof } from '../database/sql-connection';
import { failStop } from '../head/fail-stop';
import { type KnownHead, lockHead, TOUCH_HEAD } from '../head/known-head';
import type { LedgerClock } from '../head/ledger-clock';
import type { LedgerPosition } from '../chain/ledger-position';
import type { LiveMemory } from './live-memory';
import type { WriterConnection } from './writer-connection';

/** Milliseconds between attempts to find out whether a commit took place. */
const LOOK_UP_INTERVAL = 500;

/**
 * The database transaction of a batch: it holds the head while it runs, and always finds out whether it was committed.
 */
export class BatchTransaction {
  constructor(
    private readonly database: Database,
    private readonly writer: WriterConnection,
    private readonly memory: LiveMemory,
    private readonly known: KnownHead,
    private readonly clock: LedgerClock,
  ) {}

  /**
   * Locks the head if several processes may write, and returns its position. Throws for a damaged head or a wrong
   * clock.
   * @param meanwhile sends what is read besides: together, so that a remote server answers all in one round trip.
   */
  begin(connection: SqlConnection, meanwhile?: () => Promise<void>): Promise<LedgerPosition> {
    return firstOf(
      this.known.checked(lockHead(connection, this.database.dialect)),
      // Under the lock: no other process can write a later time before this one does.
      this.clock.check(connection),
      meanwhile?.(),
    );
  }

  /** Throws if nothing was committed, and only then. */
  async commit(connection: SqlConnection, proof: CommitProof): Promise<void> {
    this.database.requirePlace();
    try {
      await connection.run('COMMIT');
    } catch (error) {
      await this.afterFailedCommit(error, proof);
    }
  }

  /** An error at COMMIT does not tell whether the commit took place: the row that it would have written does. */
  private async afterFailedCommit(error: unknown, proof: CommitProof): Promise<void> {
    const kind = error instanceof DatabaseFault ? error.kind : 'programming';
    if (kind === 'constraint') throw error;
    if (kind === 'storage') failStop('A commit met a storage error.');
    await this.writer.failed(error);
    if (!(await this.tookPlace(proof))) throw error;
  }

  /**
   * Asks until the database answers: any earlier answer to the callers could be wrong. A server comes back; of a file
   * that was removed or replaced, this can never be found out.
   */
  private async tookPlace(proof: CommitProof): Promise<boolean> {
    while (this.database.isInPlace()) {
      try {
        return await this.isCommitted(proof);
      } catch (error) {
        await this.writer.recoverFrom(error);
        await sleep(LOOK_UP_INTERVAL);
      }
    }
    return failStop('Whether a commit took place cannot be found out.');
  }

  private async isCommitted({ sql, parameters, found }: CommitProof): Promise<boolean> {
    const connection = await this.writer.current();
    // Waits for a transaction of the lost connection that the server has not ended yet.
    const head = await lockHead(connection, this.database.dialect);
    const [row] = await connection.all<{ found: SqlValue }>(sql, parameters);
    if (row?.found !== found) {
      await connection.run('ROLLBACK');
      return false;
    }
    // Others may have come first since: the effects of this batch are then older than the rows.
    if (head !== undefined && this.known.seen(head)) await this.memory.catchUp(connection, head);
    // A COMMIT that did not wait for its standby may exist on this server alone; this one waits for both.
    await connection.run(TOUCH_HEAD);
    await connection.run('COMMIT');
    return true;
  }
}

/**
 * Awaits all and returns the first result. If several fail, it throws the first failure: in a failed transaction, every
 * later statement fails only as a consequence.
 */
async function firstOf<Result>(first: Promise<Result>, ...others: (Promise<void> | undefined)[]): Promise<Result> {
  const results = await Promise.allSettled([first, ...others]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return first;
}
