import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds conditions on parameters; policies of earlier versions have none. */
export class PolicyConditions1764100000041 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" ADD COLUMN "conditions" text NOT NULL DEFAULT '[]'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" DROP COLUMN "conditions"`);
  }
}
