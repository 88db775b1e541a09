import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Clears the process of executions that have ended, so that the content of `runBy` can be verified. */
export class ExecutionProcessEnded1763800000012 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`UPDATE "executions" SET "runBy" = '' WHERE "runBy" <> '' AND "outcome" <> 'running'`);
  }

  async down(): Promise<void> {
    // Which process ran an execution is no longer known, and not needed.
  }
}
