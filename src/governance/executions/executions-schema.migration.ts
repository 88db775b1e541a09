import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, optionalTextColumn, textColumn } from '../../ledger/database/columns';

export class ExecutionsSchema1763600000012 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(executions());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('executions');
  }
}

function executions(): Table {
  return new Table({
    name: 'executions',
    columns: [
      ...governedColumns(),
      textColumn('agentId'),
      textColumn('agentName'),
      textColumn('action'),
      textColumn('resourceType'),
      textColumn('resourceId'),
      textColumn('parameters'),
      textColumn('outcome'),
      textColumn('policies'),
      optionalTextColumn('decisionId'),
      optionalTextColumn('result'),
      optionalTextColumn('failureReason'),
      textColumn('createdAt'),
      optionalTextColumn('completedAt'),
      optionalTextColumn('entityId'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      ...['agentId', 'action', 'outcome', 'createdAt'].map((column) => ({ columnNames: [column, 'createdSequence'] })),
    ],
  });
}
