import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { byCreation } from '../../ledger/schema/table-shapes';

const COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ...['onBehalfOf', 'principal', 'run'].map((name) => ['executions', `"${name}" text`] as const),
  ...['onBehalfOf', 'run'].map((name) => ['decisions', `"${name}" text`] as const),
  ['api_keys', `"principals" text NOT NULL DEFAULT '[]'`],
  ['policies', `"onBehalfOf" text NOT NULL DEFAULT '[]'`],
];
const INDEXES = [
  ['executions', 'principal'],
  ['executions', 'run'],
  ['decisions', 'run'],
] as const;

/** On whose behalf agents act, and in which run. */
export class Principals1765000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const [table, column] of COLUMNS) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
    for (const [table, column] of INDEXES)
      await queryRunner.createIndex(table, new TableIndex({ ...byCreation(column), where: `"${column}" IS NOT NULL` }));
  }

  /** Executions on behalf of somebody would be held against an approval for nobody. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from principals: restore a backup from before.'));
  }
}
