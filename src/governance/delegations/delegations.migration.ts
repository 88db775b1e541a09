import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';
import { byCreation, governedTable, optionalTexts, texts } from '../../ledger/schema/table-shapes';

/** Conditions as they are at this version: those of the code may change later. */
const ESCALATIONS = new TableIndex({ columnNames: ['escalatesAt', 'id'], where: `"escalatesAt" IS NOT NULL` });
const DELEGATIONS = governedTable(
  'delegations',
  [...texts('agentId to from until status createdAt'), ...optionalTexts('endedAt dueAt')],
  [
    ...['agentId', 'to', 'status'].map((column) => byCreation(column)),
    byCreation('agentId', 'status'),
    byCreation('to', 'status'),
    { columnNames: ['dueAt', 'id'], where: `"dueAt" IS NOT NULL` },
  ],
);

/** Adds delegations of reviews, escalations of approver groups, and channels for decisions. */
export class Delegations1766600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(DELEGATIONS);
    await queryRunner.query('ALTER TABLE "decisions" ADD COLUMN "escalatesAt" text');
    await queryRunner.createIndex('decisions', ESCALATIONS);
    await queryRunner.query(`ALTER TABLE "webhooks" ADD COLUMN "approvers" text NOT NULL DEFAULT '[]'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "webhooks" DROP COLUMN "approvers"');
    await queryRunner.dropIndex('decisions', ESCALATIONS);
    await queryRunner.query('ALTER TABLE "decisions" DROP COLUMN "escalatesAt"');
    await queryRunner.dropTable('delegations');
  }
}
