import { Logger } from '@nestjs/common';
import type { CommitProof, SqlConnection } from '../database/sql-connection';
import type { BatchTransaction } from './batch-transaction';
import { deleteChunkSql, forgetLeftoverSql, selectLeftoverSql } from './batch';
import type { RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';

/** Whether a chunk was committed does not matter: what is left is found again. */
const ANY_OUTCOME: CommitProof = { sql: 'SELECT 1 AS "found"', parameters: [], found: 1 };

/**
 * Deletes dependent rows of removed records, in chunks between the batches, so that nobody waits for all of them. Their
 * removal is on record and has taken effect, so this adds no entry. What one process leaves is found by the next.
 */
export class Leftovers {
  private readonly logger = new Logger('Ledger');
  private isStopped = false;
  /** True when there may be a chunk to delete. */
  areDue = true;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly transaction: BatchTransaction,
  ) {}

  /** A committed batch has left some. */
  added(): void {
    this.areDue = !this.isStopped;
  }

  /** The rest is for the next start. */
  stop(): void {
    this.isStopped = true;
    this.areDue = false;
  }

  async deleteChunk(connection: SqlConnection): Promise<void> {
    await this.transaction.begin(connection);
    const [codec, ownerId] = (await this.next(connection)) ?? [];
    if (codec === undefined || ownerId === undefined) {
      await connection.run('ROLLBACK');
      this.areDue = false;
      return;
    }
    await Promise.all([
      connection.run(deleteChunkSql(codec), [ownerId]),
      connection.run(forgetLeftoverSql(codec), [codec.kind.subjectType, ownerId]),
    ]);
    await this.transaction.commit(connection, ANY_OUTCOME);
  }

  /** What cannot be deleted is left until the next start; it does no harm. */
  stopAfter(error: unknown): void {
    this.logger.error(`Rows of removed records are not deleted: ${String(error)}`);
    this.stop();
  }

  /** Leftovers of a module that is no longer loaded are ignored. */
  private async next(connection: SqlConnection): Promise<[codec: RecordCodec, ownerId: string] | null> {
    for (const codec of this.catalog.all) {
      const { owner } = codec.kind;
      if (owner === undefined) continue;
      const sql = selectLeftoverSql(codec, this.catalog.codec(owner.kind));
      const [found] = await connection.all<{ ownerId: string }>(sql);
      if (found !== undefined) return [codec, found.ownerId];
    }
    return null;
  }
}
