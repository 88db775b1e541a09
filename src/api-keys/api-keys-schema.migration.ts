import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, optionalTextColumn, textColumn } from '../database/columns';

export class ApiKeysSchema1764100000020 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(apiKeys());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('api_keys');
  }
}

function apiKeys(): Table {
  return new Table({
    name: 'api_keys',
    columns: [
      ...governedColumns(),
      textColumn('name'),
      textColumn('scopes'),
      optionalTextColumn('agentId'),
      textColumn('prefix'),
      textColumn('secretHash'),
      textColumn('status'),
      textColumn('createdAt'),
      optionalTextColumn('expiresAt'),
      optionalTextColumn('revokedAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['status', 'createdSequence'] },
      { columnNames: ['agentId', 'createdSequence'] },
      { columnNames: ['status', 'agentId', 'createdSequence'] },
    ],
  });
}
