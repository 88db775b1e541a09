import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds what a policy requires to be approved; those of earlier versions require nothing. */
export class PolicyApproval1764100000030 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" ADD COLUMN "approval" text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" DROP COLUMN "approval"`);
  }
}
