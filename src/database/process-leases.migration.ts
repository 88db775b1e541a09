import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { sequenceColumn, textColumn } from './columns';

export class ProcessLeases1763900000050 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(processLeases());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('process_leases');
  }
}

function processLeases(): Table {
  return new Table({
    name: 'process_leases',
    columns: [{ ...textColumn('id'), isPrimary: true }, sequenceColumn('since'), sequenceColumn('until')],
  });
}
