import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** Conditions as they are at this version: those of the code may change later. */
const INDEXES = [
  new TableIndex({ columnNames: ['via', 'createdSequence'], where: '"via" IS NOT NULL' }),
  new TableIndex({
    columnNames: ['actionHash', 'completedAt'],
    where: `"outcome" = 'failed' AND "reason" = 'outcome_unknown'`,
  }),
];

/** Adds the gateway's upstream to executions, and the index that finds unknown outcomes by action. */
export class GatewayExecutions1766100000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "executions" ADD COLUMN "via" text');
    // Indexes are created one after another: on SQLite, `createIndices` reads the indexes of a table while it creates
    // others, and sometimes fails.
    for (const index of INDEXES) await queryRunner.createIndex('executions', index);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const index of INDEXES) await queryRunner.dropIndex('executions', index);
    await queryRunner.query('ALTER TABLE "executions" DROP COLUMN "via"');
  }
}
