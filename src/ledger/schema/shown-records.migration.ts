import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Kept answers name the records that they show, so that an erasure finds them. Those kept before name none. */
export class ShownRecords1764650000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "idempotency_keys" ADD COLUMN "subjects" text NOT NULL DEFAULT '[]'`);
  }

  /** An earlier version would go on showing what was erased: go back to a backup. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from erasures: restore a backup from before.'));
  }
}
