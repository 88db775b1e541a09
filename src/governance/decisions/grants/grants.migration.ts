import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';
import { integerColumn } from '../../../ledger/database/columns';
import { byCreation, governedTable, optionalTexts, texts } from '../../../ledger/schema/table-shapes';

const COLUMNS = [
  ['decisions', 'grant'],
  ['executions', 'grantId'],
  ['executions', 'instead'],
] as const;

export class Grants1765400000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [
      ...texts('agentId decisionId action resourceType resourceId until status createdAt'),
      ...optionalTexts('resources parametersHash onBehalfOf'),
      { ...integerColumn('uses'), isNullable: true },
    ];
    const indexes = [
      ...[byCreation('agentId'), byCreation('agentId', 'status'), byCreation('status'), byCreation('decisionId')],
      { columnNames: ['until', 'id'], where: `"status" = 'active'` },
    ];
    await queryRunner.createTable(governedTable('grants', columns, indexes));
    for (const [table, column] of COLUMNS)
      await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "${column}" text`);
    const used = new TableIndex({ ...byCreation('grantId'), where: '"grantId" IS NOT NULL' });
    await queryRunner.createIndex('executions', used);
  }

  /** A version that knows no grants could not verify what was authorised by one. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from grants: restore a backup from before.'));
  }
}
