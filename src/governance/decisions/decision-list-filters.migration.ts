import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexes, dropIndexes } from '../../ledger/database/columns';
import { countRows } from '../../ledger/schema/count-rows';

/** Decisions are counted by each filter, and can be found by status plus another filter. */
export class DecisionListFilters1763700000040 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexes(queryRunner, 'decisions', pairs());
    await countRows(queryRunner, 'decisions', 'decisions', ['status', 'riskLevel', 'type', 'proposedBy']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "ledger_counters" WHERE "name" LIKE 'decisions:%'`);
    await dropIndexes(queryRunner, 'decisions', pairs());
  }
}

function pairs(): TableIndex[] {
  return [
    ['status', 'riskLevel'],
    ['status', 'type'],
    ['status', 'proposedBy'],
  ].map((columns) => new TableIndex({ columnNames: [...columns, 'createdSequence'] }));
}
