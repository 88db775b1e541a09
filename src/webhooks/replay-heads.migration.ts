import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the head at the last replay. A filter used to choose among all entries: so it does among those until now. */
export class ReplayHeads1764300000011 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_standings" ADD COLUMN "replayHead" bigint`);
    await queryRunner.query(`UPDATE "webhook_standings" SET "replayHead" = (SELECT "sequence" FROM "ledger_head")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_standings" DROP COLUMN "replayHead"`);
  }
}
