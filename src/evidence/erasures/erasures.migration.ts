import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { integerColumn, optionalTextColumn } from '../../ledger/database/columns';
import { governedTable, texts, noWayBack } from '../../ledger/schema/table-shapes';

/** Tables whose records can be erased while they stay. */
const TABLES = ['executions', 'decisions'] as const;

/** What can still be erased. */
export const NOT_ERASED = `"erased" = 'false'`;

export class Erasures1764700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const counts = ['entries', 'records', 'unsalted'].map((name) => ({ ...integerColumn(name), isNullable: true }));
    await queryRunner.createTable(
      governedTable('erasures', [...texts('subjects reason createdAt'), optionalTextColumn('completedAt'), ...counts]),
    );
    // Their names may hold what is going to be erased; a missing counter counts nothing.
    await queryRunner.query('DELETE FROM "ledger_counters" WHERE "value" = 0');
    for (const table of TABLES) {
      await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "erased" text NOT NULL DEFAULT 'false'`);
      await queryRunner.createIndex(table, new TableIndex({ columnNames: ['createdSequence'], where: NOT_ERASED }));
    }
  }

  /** What was erased must not come back: go back to a backup, which the next start brings up to date. */
  readonly down = noWayBack('erasures');
}
