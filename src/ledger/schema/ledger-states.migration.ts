import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Adds an index of the entries that say something about their subject: finding the last one about a key costs the same,
 * however often its holder was refused since.
 */
export class LedgerStates1764400000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createIndex('ledger_entries', states());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropIndex('ledger_entries', states());
  }
}

function states(): TableIndex {
  return new TableIndex({ columnNames: ['subjectId', 'sequence'], where: `"action" <> 'access.denied'` });
}
