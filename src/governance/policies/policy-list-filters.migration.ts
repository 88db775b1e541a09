import type { MigrationInterface, QueryRunner } from 'typeorm';
import { countRows } from '../../ledger/schema/count-rows';

/** Counts policies by status and by effect. */
export class PolicyListFilters1763700000011 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await countRows(queryRunner, 'policies', 'policies', ['status', 'effect']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "ledger_counters" WHERE "name" LIKE 'policies:%'`);
  }
}
