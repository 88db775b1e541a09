import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, sequenceColumn, textColumn } from '../database/columns';

export class RestorationsSchema1763800000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(restorations());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('restorations');
  }
}

function restorations(): Table {
  return new Table({
    name: 'restorations',
    columns: [
      ...governedColumns(),
      sequenceColumn('acceptedSize'),
      textColumn('acceptedRootHash'),
      sequenceColumn('givenUpSize'),
      textColumn('givenUpRootHash'),
      textColumn('givenUpCheckpoint'),
      textColumn('createdAt'),
    ],
    indices: [{ columnNames: ['createdSequence'], isUnique: true }],
  });
}
