import type { MigrationInterface, QueryRunner } from 'typeorm';
import { countItems, countRows } from '../../ledger/schema/count-rows';

interface StoredLists {
  readonly id: string;
  readonly createdSequence: number;
  readonly capabilities: string;
  readonly roles: string;
}

const INSERT_ITEM = 'INSERT INTO "ledger_list_items" ("item", "createdSequence", "recordId") VALUES ($1, $2, $3)';

/** Agents can be found, and are counted, by capability, role and status. */
export class AgentListFilters1763700000010 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const sql = 'SELECT "id", "createdSequence", "capabilities", "roles" FROM "agents"';
    for (const agent of (await queryRunner.query(sql)) as StoredLists[]) await indexLists(queryRunner, agent);
    await countItems(queryRunner, 'agents');
    await countRows(queryRunner, 'agents', 'agents', ['status']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "ledger_list_items" WHERE "item" LIKE 'agents:%'`);
    await queryRunner.query(`DELETE FROM "ledger_counters" WHERE "name" LIKE 'agents:%'`);
  }
}

async function indexLists(queryRunner: QueryRunner, agent: StoredLists): Promise<void> {
  for (const column of ['capabilities', 'roles'] as const) {
    for (const value of new Set(JSON.parse(agent[column]) as string[])) {
      await queryRunner.query(INSERT_ITEM, [`agents:${column}:${value}`, agent.createdSequence, agent.id]);
    }
  }
}
