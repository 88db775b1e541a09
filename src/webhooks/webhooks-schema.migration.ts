import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, optionalTextColumn, sequenceColumn, textColumn } from '../database/columns';

export class WebhooksSchema1764200000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of [webhooks(), standings(), leases()]) await queryRunner.createTable(table);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['webhook_leases', 'webhook_standings', 'webhooks']) await queryRunner.dropTable(table);
  }
}

function webhooks(): Table {
  return new Table({
    name: 'webhooks',
    columns: [
      ...governedColumns(),
      textColumn('url'),
      textColumn('actions'),
      optionalTextColumn('agentId'),
      textColumn('description'),
      textColumn('secretHash'),
      textColumn('secrets'),
      textColumn('status'),
      textColumn('createdAt'),
      textColumn('updatedAt'),
    ],
    indices: [{ columnNames: ['createdSequence'], isUnique: true }],
  });
}

function standings(): Table {
  return new Table({
    name: 'webhook_standings',
    columns: [
      { ...textColumn('webhookId'), isPrimary: true },
      sequenceColumn('sequence'),
      sequenceColumn('epoch'),
      sequenceColumn('term'),
      integerColumn('attempts'),
      optionalTextColumn('failingSince'),
      optionalTextColumn('lastAttemptAt'),
      { ...integerColumn('lastStatus'), isNullable: true },
      optionalTextColumn('nextAttemptAt'),
    ],
  });
}

function leases(): Table {
  return new Table({
    name: 'webhook_leases',
    columns: [
      { ...integerColumn('id'), isPrimary: true },
      textColumn('holder'),
      sequenceColumn('term'),
      sequenceColumn('until'),
    ],
  });
}
