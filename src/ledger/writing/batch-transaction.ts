import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../database/database';
import { DatabaseFault } from '../../database/database-fault';
import type { SqlConnection, SqlValue, CommitProof } from '../../database/sql-connection';
import { failStop } from '../head/fail-stop';
import type { KnownHead } from '../head/known-head';
import { readHead, TOUCH_HEAD } from '../head/head-row';
import type { LedgerClock } from '../head/ledger-clock';
import type { LedgerPosition } from '../chain/ledger-position';
import type { WriterConnection } from './writer-connection';

/** Milliseconds. */
const LOOK_UP_INTERVAL = 500;

/** The database transaction of a batch: it holds the head while it runs, and it is certain whether it was committed. */
export class BatchTransaction {
  constructor(
    private readonly database: Database,
    private readonly writer: WriterConnection,
    private readonly known: KnownHead,
    private readonly clock: LedgerClock,
  ) {}

  /** Locks the head, where several processes may write, and answers where it stands. Throws for a damaged head or a wrong clock. */
  async begin(connection: SqlConnection): Promise<LedgerPosition> {
    const [head] = await allInOrder(
      this.known.read(() => this.lockedHead(connection)),
      // Behind the lock: no other process writes a later time before this one.
      this.clock.look(connection),
    );
    return head;
  }

  /** Throws when nothing was committed, and only then. */
  async commit(connection: SqlConnection, proof: CommitProof): Promise<void> {
    this.writer.checkPlace();
    try {
      await connection.run('COMMIT');
    } catch (error) {
      await this.afterFailedCommit(error, proof);
    }
  }

  /** An error at COMMIT does not tell whether it took place: the row that it would have left does. */
  private async afterFailedCommit(error: unknown, proof: CommitProof): Promise<void> {
    const kind = error instanceof DatabaseFault ? error.kind : 'programming';
    if (kind === 'constraint') throw error;
    if (kind === 'storage') failStop('A commit met a storage error.');
    await this.writer.failed(error);
    if (!(await this.tookPlace(proof))) throw error;
  }

  /**
   * Asks until the database answers: an answer to the callers before that could be a lie. A server comes back; a file
   * that was removed or replaced does not, and cannot tell any more.
   */
  private async tookPlace(proof: CommitProof): Promise<boolean> {
    while (this.database.isInPlace()) {
      try {
        return await this.isCommitted(proof);
      } catch (error) {
        await this.writer.giveUp(error);
        await sleep(LOOK_UP_INTERVAL);
      }
    }
    return failStop('Whether a commit took place cannot be found out.');
  }

  private async isCommitted({ sql, parameters, found }: CommitProof): Promise<boolean> {
    const connection = await this.writer.current();
    // Waits for a transaction of the lost connection that the server has not ended yet.
    await this.lockedHead(connection);
    const [row] = await connection.all<{ found: SqlValue }>(sql, parameters);
    if (row?.found !== found) {
      await connection.run('ROLLBACK');
      return false;
    }
    // What a COMMIT left that did not wait for its standby may be on this server alone; this one waits for both.
    await connection.run(TOUCH_HEAD);
    await connection.run('COMMIT');
    return true;
  }

  private async lockedHead(connection: SqlConnection): Promise<LedgerPosition | undefined> {
    const { begin, lockRow } = this.database.dialect;
    const [, head] = await Promise.all([connection.run(begin), readHead(connection, lockRow)]);
    return head;
  }
}

/**
 * What all come to. Where several fail it throws the failure of the first that was called: in a transaction that has
 * failed, every later statement fails only for that.
 */
export async function allInOrder<Results extends readonly unknown[]>(
  ...calls: { readonly [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}
