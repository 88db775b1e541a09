import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { textColumn } from '../../database/columns';
import { LEFTOVERS } from './ledger-leftover.entity';

export class LedgerLeftovers1764000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = ['subjectType', 'ownerId'].map((name) => ({ ...textColumn(name), isPrimary: true }));
    await queryRunner.createTable(new Table({ name: LEFTOVERS, columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable(LEFTOVERS);
  }
}
