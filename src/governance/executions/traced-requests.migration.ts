import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { byCreation } from '../../ledger/schema/table-shapes';
import { IS_TRACED } from './execution.entity';

export class TracedRequests1764900000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['executions', 'decisions']) {
      await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "traceId" text`);
      await queryRunner.createIndex(table, new TableIndex({ ...byCreation('traceId'), where: IS_TRACED }));
    }
  }

  /** A version that does not know the column could not verify the records that have it. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from traced requests: restore a backup from before.'));
  }
}
