import { type MigrationInterface, type QueryRunner, Table } from 'typeorm';
import { optionalTextColumn, textColumn } from '../../../ledger/database/columns';

const NEW_TABLES = [
  new Table({
    name: 'change_requests',
    columns: [{ ...textColumn('requestHash'), isPrimary: true }, textColumn('decisionId'), optionalTextColumn('body')],
    indices: [{ columnNames: ['decisionId'] }],
  }),
  new Table({
    name: 'change_marks',
    columns: [{ ...textColumn('id'), isPrimary: true }, textColumn('markedAt')],
  }),
];

/** Adds decisions on changes, which callers other than agents also propose. */
export class Changes1766600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of NEW_TABLES) await queryRunner.createTable(table);
    for (const name of ['change', 'actor'])
      await queryRunner.query(`ALTER TABLE "decisions" ADD COLUMN "${name}" text`);
    if (queryRunner.connection.options.type === 'postgres')
      await queryRunner.query('ALTER TABLE "decisions" ALTER COLUMN "proposedBy" DROP NOT NULL');
    else await makeProposerOptional(queryRunner);
  }

  /** Fails, because decisions without a proposer would be lost. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from decisions without a proposer: restore a backup.'));
  }
}

/** Makes the proposer optional. SQLite drops no constraint, so the table is copied, and gets its indexes again. */
async function makeProposerOptional(queryRunner: QueryRunner): Promise<void> {
  const statements = (await queryRunner.query(
    `SELECT "type", "sql" FROM sqlite_master WHERE "tbl_name" = 'decisions' AND "sql" IS NOT NULL`,
  )) as { readonly type: string; readonly sql: string }[];
  const table = statements.find(({ type }) => type === 'table')?.sql ?? '';
  const copy = table
    .replace('"decisions"', '"decisions_copy"')
    .replace('"proposedBy" text NOT NULL', '"proposedBy" text');
  await queryRunner.query(copy);
  await queryRunner.query('INSERT INTO "decisions_copy" SELECT * FROM "decisions"');
  await queryRunner.query('DROP TABLE "decisions"');
  await queryRunner.query('ALTER TABLE "decisions_copy" RENAME TO "decisions"');
  for (const { type, sql } of statements) if (type === 'index') await queryRunner.query(sql);
}
