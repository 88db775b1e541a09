import type { MigrationInterface, QueryRunner } from 'typeorm';

const COLUMNS = [`"format" text NOT NULL DEFAULT 'event'`, `"detail" text NOT NULL DEFAULT 'full'`, `"target" text`];

/** Webhooks that deliver messages for people. */
export class WebhookFormats1765600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const column of COLUMNS) await queryRunner.query(`ALTER TABLE "webhooks" ADD COLUMN ${column}`);
  }

  /** A version that knows no formats would deliver entries to the origin of a chat. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from formats of webhooks: restore a backup from before.'));
  }
}
