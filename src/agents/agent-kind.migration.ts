import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { countRows } from '../ledger/schema/count-rows';

/** Agents are machines or people; those of earlier versions count as machines. */
export class AgentKind1764100000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "agents" ADD COLUMN "kind" text NOT NULL DEFAULT 'machine'`);
    await queryRunner.createIndex('agents', byKind());
    await countRows(queryRunner, 'agents', 'agents', ['kind']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "ledger_counters" WHERE "name" LIKE 'agents:kind:%'`);
    await queryRunner.dropIndex('agents', byKind());
    await queryRunner.query(`ALTER TABLE "agents" DROP COLUMN "kind"`);
  }
}

function byKind(): TableIndex {
  return new TableIndex({ columnNames: ['kind', 'createdSequence'] });
}
