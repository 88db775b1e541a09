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

/** Proof for a chunk whose commit need not be confirmed: leftovers are found again. */
const ANY_OUTCOME: CommitProof = { sql: 'SELECT 1 AS "actual"', parameters: [], expected: 1 };
/** Milliseconds until the next attempt to truncate the log, if somebody was reading it. */
const TRUNCATE_AGAIN = 1_000;

/**
 * Deletes dependent rows of removed records, and erases contents from entries, in chunks between the batches, so that
 * no command waits for all of them. The removal is already recorded and effective, so this adds no entry. If a process
 * ends before everything is deleted, the next one continues.
 */
export class Leftovers {
  private readonly logger = new Logger('Ledger');
  private isStopped = false;
  private areLeft = true;
  /** Monotonic milliseconds at which to truncate the log; null while it holds no erased contents. */
  private truncateAt: number | null = null;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly database: Pick<Database, 'truncateLog'>,
  ) {}

  /** True if there may be a chunk to delete. */
  get areDue(): boolean {
    if (this.isStopped) return false;
    return this.areLeft || (this.truncateAt !== null && this.truncateAt <= performance.now());
  }

  /** Notes that a committed batch, or another process, has added leftovers. */
  added(): void {
    this.areLeft = true;
  }

  /** Stops; the next start deletes the rest. */
  stop(): void {
    this.isStopped = true;
  }

  async deleteChunk(connection: SqlConnection): Promise<void> {
    if (!this.areLeft) return this.truncateLog(connection);
    await this.writer.begin(connection);
    // Removals come first: once a record is no longer marked as being erased, nothing that it owned may be left.
    const chunk = (await this.removal(connection)) ?? (await this.erasure(connection));
    if (chunk === null) {
      await connection.run('ROLLBACK');
      this.areLeft = false;
      return;
    }
    await connection.runAll(chunk);
    await this.writer.commit(connection, ANY_OUTCOME);
  }

  /** Stops after a fault, until the next start; verification reports leftovers. */
  stopAfter(error: unknown): void {
    this.logger.error(`Rows of removed records, or what was erased, are not deleted: ${String(error)}`);
    this.stop();
  }

  /** Truncates the log, which still holds the erased contents of entries until then. */
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

  /** Deletes a chunk of dependent rows. Ignores leftovers of a module that is no longer loaded. */
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
