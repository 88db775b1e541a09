import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agents that are observed for a while, and the executions that were authorised only because of that. */
export class ObservedExecutions1765020000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "agents" ADD COLUMN "observeUntil" text');
    await queryRunner.query(`ALTER TABLE "executions" ADD COLUMN "observed" text NOT NULL DEFAULT 'false'`);
  }

  /** A version that knows no observation could not verify what was authorised by it. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from observed executions: restore a backup from before.'));
  }
}
