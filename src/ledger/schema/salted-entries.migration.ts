import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What entries of the sealed form 2 have besides. Older entries keep null: nothing of them changes. */
const COLUMNS = ['"detailsSalt" text', '"stateSalt" text', '"detailsHash" text', '"erased" bigint'];

/** Entries commit with salts to what may have to be forgotten. */
export class SaltedEntries1764600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const column of COLUMNS) await queryRunner.query(`ALTER TABLE "ledger_entries" ADD COLUMN ${column}`);
  }

  /** Without their salts, nobody could verify the entries written since: go back to a backup. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from sealed form 2: restore a backup from before.'));
  }
}
