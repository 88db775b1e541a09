import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds what it is that failed. It is not known of earlier failures, so those endpoints are tried at once. */
export class DeliveryFailures1764300000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_standings" ADD COLUMN "failingSequence" bigint`);
    await queryRunner.query(`ALTER TABLE "webhook_standings" ADD COLUMN "failingUrl" text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_standings" DROP COLUMN "failingUrl"`);
    await queryRunner.query(`ALTER TABLE "webhook_standings" DROP COLUMN "failingSequence"`);
  }
}
