import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, textColumn } from '../../ledger/database/columns';

export class AgentsSchema1763600000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(agents());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('agents');
  }
}

function agents(): Table {
  return new Table({
    name: 'agents',
    columns: [
      ...governedColumns(),
      textColumn('name'),
      textColumn('description'),
      textColumn('capabilities'),
      textColumn('roles'),
      textColumn('status'),
      textColumn('createdAt'),
      textColumn('updatedAt'),
      integerColumn('revision'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['name'], isUnique: true },
      { columnNames: ['status', 'createdSequence'] },
    ],
  });
}
