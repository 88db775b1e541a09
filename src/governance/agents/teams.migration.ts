import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

const TABLES = ['agents', 'policies', 'api_keys'] as const;
const INDEXES = [
  ['agents', new TableIndex({ columnNames: ['team', 'createdSequence'], where: '"team" IS NOT NULL' })],
  ['policies', new TableIndex({ columnNames: ['team', 'createdSequence'] })],
] as const;

/** Agents, policies and keys may belong to a team. */
export class Teams1766600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "team" text`);
    for (const [table, index] of INDEXES) await queryRunner.createIndex(table, index);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const [table, index] of INDEXES) await queryRunner.dropIndex(table, index);
    for (const table of TABLES) await queryRunner.query(`ALTER TABLE "${table}" DROP COLUMN "team"`);
  }
}
