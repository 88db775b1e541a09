import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, textColumn } from '../../ledger/database/columns';

export class EntitiesSchema1763600000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(entities());
    await queryRunner.createTable(claims());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('claims');
    await queryRunner.dropTable('entities');
  }
}

function entities(): Table {
  return new Table({
    name: 'entities',
    columns: [
      ...governedColumns(),
      textColumn('type'),
      textColumn('name'),
      textColumn('properties'),
      textColumn('createdAt'),
      textColumn('updatedAt'),
      integerColumn('revision'),
    ],
    indices: [{ columnNames: ['createdSequence'], isUnique: true }, { columnNames: ['type', 'createdSequence'] }],
  });
}

function claims(): Table {
  return new Table({
    name: 'claims',
    columns: [
      ...governedColumns(),
      textColumn('entityId'),
      textColumn('predicate'),
      textColumn('value'),
      textColumn('context'),
      textColumn('createdAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['entityId', 'createdSequence'] },
      { columnNames: ['entityId', 'predicate', 'createdSequence'] },
    ],
    foreignKeys: [{ columnNames: ['entityId'], referencedTableName: 'entities', referencedColumnNames: ['id'] }],
  });
}
