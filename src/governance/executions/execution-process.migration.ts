import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the process that runs an execution, so that others can tell when it has ended. */
export class ExecutionProcess1763600000013 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "executions" ADD COLUMN "runBy" text NOT NULL DEFAULT ''`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "executions" DROP COLUMN "runBy"`);
  }
}
