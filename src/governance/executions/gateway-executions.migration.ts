import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** Conditions as they are at this version: those of the code may change later. */
const INDEXES = [
  new TableIndex({ columnNames: ['via', 'createdSequence'], where: '"via" IS NOT NULL' }),
  new TableIndex({
    columnNames: ['actionHash', 'completedAt'],
    where: `"outcome" = 'failed' AND "reason" = 'outcome_unknown'`,
  }),
];

/** Executions name the gateway's upstream, and those whose outcome is unknown are found by their action. */
export class GatewayExecutions1766100000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "executions" ADD COLUMN "via" text');
    // One after another: on SQLite `createIndices` reads the indexes of a table while it makes others, and fails now and then.
    for (const index of INDEXES) await queryRunner.createIndex('executions', index);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const index of INDEXES) await queryRunner.dropIndex('executions', index);
    await queryRunner.query('ALTER TABLE "executions" DROP COLUMN "via"');
  }
}
