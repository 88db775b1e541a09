import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** The condition as it is at this version: that of the code may change later. */
const IS_RESUMED =
  `"erased" = 'false' AND "outcome" IN ('authorized', 'running', 'executed', 'failed', 'interrupted') ` +
  `AND "resumedSequence" IS NOT NULL`;
const INDEXES = [
  ['agentId', 'action', 'resumedSequence'],
  ['agentId', 'resourceKey', 'action', 'resumedSequence'],
].map((columnNames) => new TableIndex({ columnNames, where: IS_RESUMED }));

const SET_SEQUENCES =
  `UPDATE "executions" SET "resumedSequence" = entry."sequence" FROM "ledger_entries" AS entry ` +
  `WHERE entry."action" = 'execution.resumed' AND entry."subjectId" = "executions"."id"`;

/** Adds the sequence of its resume to each execution, and the indexes by which conditions find those of a period. */
export class ResumedExecutions1766800000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "executions" ADD COLUMN "resumedSequence" bigint');
    await queryRunner.query(SET_SEQUENCES);
    // Indexes are created one after another: on SQLite, `createIndices` reads the indexes of a table while it creates
    // others, and sometimes fails.
    for (const index of INDEXES) await queryRunner.createIndex('executions', index);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const index of INDEXES) await queryRunner.dropIndex('executions', index);
    await queryRunner.query('ALTER TABLE "executions" DROP COLUMN "resumedSequence"');
  }
}
