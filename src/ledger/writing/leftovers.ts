import { Logger } from '@nestjs/common';
import type { Database } from '../database/database';
import type { CommitProof, SqlConnection, SqlStatement } from '../database/sql-connection';
import {
  deleteChunkSql,
  type ErasedRecord,
  eraseContentsSql,
  forgetErasedSql,
  forgetLeftoverSql,
  SELECT_ERASED,
  selectLeftoverSql,
} from './leftover-statements';
import type { RecordCatalog } from '../records/record-catalog';
import type { WriterConnection } from './writer-connection';

/** Whether a chunk was committed does not matter: what is left is found again. */
const ANY_OUTCOME: CommitProof = { sql: 'SELECT 1 AS "actual"', parameters: [], expected: 1 };
/** Milliseconds until the log is truncated again, because somebody was reading it. */
const TRUNCATE_AGAIN = 1_000;

/**
 * Deletes dependent rows of removed records, and takes from entries what was erased, in chunks between the batches, so
 * that nobody waits for all of them. It is on record and has taken effect, so this adds no entry. What one process
 * leaves is found by the next.
 */
export class Leftovers {
  private readonly logger = new Logger('Ledger');
  private isStopped = false;
  private areLeft = true;
  /** Monotonic milliseconds at which the log is to be truncated; null while it holds nothing that was erased. */
  private truncateAt: number | null = null;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly database: Pick<Database, 'truncateLog'>,
  ) {}

  /** True when there may be a chunk to delete. */
  get areDue(): boolean {
    if (this.isStopped) return false;
    return this.areLeft || (this.truncateAt !== null && this.truncateAt <= performance.now());
  }

  /** A committed batch, or another process, has left some. */
  added(): void {
    this.areLeft = true;
  }

  /** The rest is for the next start. */
  stop(): void {
    this.isStopped = true;
  }

  async deleteChunk(connection: SqlConnection): Promise<void> {
    if (!this.areLeft) return this.truncateLog(connection);
    await this.writer.begin(connection);
    // Of an erased record nothing is left once nothing says that it is being erased: what it owned goes first.
    const chunk = (await this.removal(connection)) ?? (await this.erasure(connection));
    if (chunk === null) {
      await connection.run('ROLLBACK');
      this.areLeft = false;
      return;
    }
    await connection.runAll(chunk);
    await this.writer.commit(connection, ANY_OUTCOME);
  }

  /** What cannot be deleted is left until the next start; verification reports what should be gone. */
  stopAfter(error: unknown): void {
    this.logger.error(`Rows of removed records, or what was erased, are not deleted: ${String(error)}`);
    this.stop();
  }

  /** Contents of an entry are in the log as they were written, until it is truncated. */
  private async truncateLog(connection: SqlConnection): Promise<void> {
    const isDone = await this.database.truncateLog(connection, 0);
    this.truncateAt = isDone ? null : performance.now() + TRUNCATE_AGAIN;
  }

  private async erasure(connection: SqlConnection): Promise<SqlStatement[] | null> {
    const [record] = await connection.all<ErasedRecord>(SELECT_ERASED);
    if (record === undefined) return null;
    this.truncateAt = performance.now();
    const { subjectType, ownerId, sequence } = record;
    return [
      { sql: eraseContentsSql(this.catalog), parameters: [ownerId, sequence] },
      { sql: forgetErasedSql(this.catalog), parameters: [ownerId, sequence, subjectType] },
    ];
  }

  /** Leftovers of a module that is no longer loaded are ignored. */
  private async removal(connection: SqlConnection): Promise<SqlStatement[] | null> {
    for (const codec of this.catalog.all) {
      const { owner, subjectType } = codec.kind;
      if (owner === undefined) continue;
      const sql = selectLeftoverSql(codec, this.catalog.codec(owner.kind));
      const [row] = await connection.all<{ ownerId: string }>(sql);
      if (row === undefined) continue;
      return [
        { sql: deleteChunkSql(codec), parameters: [row.ownerId] },
        { sql: forgetLeftoverSql(codec), parameters: [subjectType, row.ownerId] },
      ];
    }
    return null;
  }
}
