import { Logger } from '@nestjs/common';
import type { SqlConnection, CommitProof } from '../../database/sql-connection';
import type { BatchTransaction } from './batch-transaction';
import { deletePieceSql, forgetLeftoverSql, selectLeftoverSql } from './leftover-rows';
import type { RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';

/** Whether a piece took place does not matter: what is left is found again. */
const ANY_OUTCOME: CommitProof = { sql: 'SELECT 1 AS "found"', parameters: [], found: 1 };

/**
 * Deletes what is left of removed records, piece by piece, between the batches: so nobody waits for the whole. Their removal
 * is on record and has taken effect, so this adds no entry. What a process that ended has left is found by the next one.
 */
export class Leftovers {
  private readonly logger = new Logger('Ledger');
  private isStopped = false;
  private mayBeThere = true;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly transaction: BatchTransaction,
  ) {}

  /** True when a piece may be there to delete. */
  get areDue(): boolean {
    return this.mayBeThere && !this.isStopped;
  }

  /** A batch that was committed has left some. */
  added(): void {
    this.mayBeThere = true;
  }

  /** The rest is for the next start. */
  stop(): void {
    this.isStopped = true;
  }

  async deletePiece(connection: SqlConnection): Promise<void> {
    await this.transaction.begin(connection);
    const [codec, ownerId] = (await this.next(connection)) ?? [];
    if (codec === undefined || ownerId === undefined) {
      await connection.run('ROLLBACK');
      this.mayBeThere = false;
      return;
    }
    await Promise.all([
      connection.run(deletePieceSql(codec), [ownerId]),
      connection.run(forgetLeftoverSql(codec), [codec.kind.subjectType, ownerId]),
    ]);
    await this.transaction.commit(connection, ANY_OUTCOME);
  }

  /** What cannot be deleted is left until the next start; it does no harm. */
  giveUp(error: unknown): void {
    this.logger.error(`Rows of removed records are not deleted: ${String(error)}`);
    this.stop();
  }

  /** Those of a module that is not loaded any more are left alone. */
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
