import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Limits1765200000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" ADD COLUMN "limits" text NOT NULL DEFAULT '[]'`);
  }

  /** A version that knows no limits would allow what they refuse. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from limits: restore a backup from before.'));
  }
}
