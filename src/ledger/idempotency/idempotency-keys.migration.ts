import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { textColumn } from '../../database/columns';

export class IdempotencyKeys1763800000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(idempotencyKeys());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('idempotency_keys');
  }
}

function idempotencyKeys(): Table {
  return new Table({
    name: 'idempotency_keys',
    columns: [
      { ...textColumn('id'), isPrimary: true },
      textColumn('contentHash'),
      textColumn('answer'),
      textColumn('createdAt'),
    ],
    indices: [{ columnNames: ['createdAt'] }],
  });
}
