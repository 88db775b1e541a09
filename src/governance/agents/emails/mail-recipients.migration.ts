import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { optionalTextColumn, sequenceColumn, textColumn } from '../../../ledger/database/columns';
import { primary } from '../../../ledger/schema/table-shapes';

/** Addresses of people, and what they were told. */
export class MailRecipients1765620000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [
      ...[primary(textColumn('agentId')), textColumn('email')],
      ...[...['sequence', 'epoch', 'term'].map(sequenceColumn), optionalTextColumn('mailedAt')],
    ];
    await queryRunner.createTable(new Table({ name: 'mail_recipients', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('mail_recipients');
  }
}
