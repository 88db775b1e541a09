import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { integerColumn, textColumn } from '../../ledger/database/columns';

/** Adds the proof of the key with which secrets were replaced. */
export class SecretKeyProofs1766200000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [{ ...integerColumn('id'), isPrimary: true }, textColumn('proof')];
    await queryRunner.createTable(new Table({ name: 'secret_key_proofs', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('secret_key_proofs');
  }
}
