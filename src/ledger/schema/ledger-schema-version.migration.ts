import { TableColumn, type MigrationInterface, type QueryRunner } from 'typeorm';
import { sequenceColumn } from '../../database/columns';

export class LedgerSchemaVersion1764000000002 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.addColumn('ledger_head', new TableColumn({ ...sequenceColumn('schemaVersion'), default: 0 }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropColumn('ledger_head', 'schemaVersion');
  }
}
