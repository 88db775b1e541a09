import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Executions that have ended name no process any more, so that what `runBy` holds can be verified. */
export class ExecutionProcessEnded1763800000012 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`UPDATE "executions" SET "runBy" = '' WHERE "runBy" <> '' AND "outcome" <> 'running'`);
  }

  async down(): Promise<void> {
    // Which process ran an execution is not known any more; nothing asks for it.
  }
}
