import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, optionalTextColumn, textColumn } from '../ledger/database/columns';

export class IncidentsSchema1767225600000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(incidents());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('incidents');
  }
}

function incidents(): Table {
  return new Table({
    name: 'incidents',
    columns: [
      ...governedColumns(),
      textColumn('reference'),
      textColumn('title'),
      textColumn('severity'),
      textColumn('labels'),
      integerColumn('affected'),
      optionalTextColumn('entityId'),
      textColumn('createdAt'),
      optionalTextColumn('closedAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['reference'], isUnique: true },
      { columnNames: ['severity', 'createdSequence'] },
      { columnNames: ['createdAt', 'createdSequence'] },
    ],
  });
}
