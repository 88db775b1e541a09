import type { MigrationInterface, QueryRunner } from 'typeorm';
import { byCreation, governedTable, optionalTexts, texts } from '../../ledger/schema/table-shapes';

export class Stops1764800000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [...optionalTexts('agentId role liftedAt'), ...texts('actions reason status createdAt createdBy')];
    await queryRunner.createTable(governedTable('stops', columns, [byCreation('status')]));
  }

  /** A version that knows no stops would authorise what they cover. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from stops: restore a backup from before.'));
  }
}
