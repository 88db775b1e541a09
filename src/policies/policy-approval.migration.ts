import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Policies that require an approval say which; those of earlier versions require none. */
export class PolicyApproval1764100000030 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" ADD COLUMN "approval" text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" DROP COLUMN "approval"`);
  }
}
