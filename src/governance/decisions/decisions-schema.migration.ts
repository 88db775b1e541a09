import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, integerColumn, optionalTextColumn, textColumn } from '../../ledger/database/columns';

export class DecisionsSchema1763600000040 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(decisions());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('decisions');
  }
}

function decisions(): Table {
  return new Table({
    name: 'decisions',
    columns: [
      ...governedColumns(),
      textColumn('type'),
      textColumn('title'),
      textColumn('description'),
      textColumn('context'),
      textColumn('proposedBy'),
      textColumn('riskLevel'),
      textColumn('status'),
      integerColumn('requiredApprovals'),
      textColumn('reviews'),
      optionalTextColumn('expiresAt'),
      textColumn('createdAt'),
      textColumn('updatedAt'),
      optionalTextColumn('resolvedAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      ...['status', 'riskLevel', 'type', 'proposedBy'].map((column) => ({ columnNames: [column, 'createdSequence'] })),
      { columnNames: ['status', 'expiresAt'] },
    ],
  });
}
