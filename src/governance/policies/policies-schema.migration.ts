import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, textColumn } from '../../ledger/database/columns';

export class PoliciesSchema1763600000011 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(policies());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('policies');
  }
}

function policies(): Table {
  return new Table({
    name: 'policies',
    columns: [
      ...governedColumns(),
      textColumn('name'),
      textColumn('version'),
      textColumn('description'),
      textColumn('effect'),
      textColumn('subjects'),
      textColumn('actions'),
      textColumn('resources'),
      textColumn('resourceTypes'),
      integerColumn('priority'),
      textColumn('status'),
      textColumn('warnings'),
      textColumn('createdAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['name', 'version'], isUnique: true },
      { columnNames: ['name', 'createdSequence'] },
      { columnNames: ['status', 'createdSequence'] },
      { columnNames: ['effect', 'createdSequence'] },
    ],
  });
}
