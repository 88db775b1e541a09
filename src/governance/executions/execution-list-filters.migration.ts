import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexes, dropIndexes } from '../../ledger/database/columns';
import { countRows } from '../../ledger/schema/count-rows';

/** Executions are counted by each filter, and can be found by two of them. */
export class ExecutionListFilters1763700000012 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexes(queryRunner, 'executions', pairs());
    await countRows(queryRunner, 'executions', 'executions', ['agentId', 'action', 'outcome']);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "ledger_counters" WHERE "name" LIKE 'executions:%'`);
    await dropIndexes(queryRunner, 'executions', pairs());
  }
}

function pairs(): TableIndex[] {
  return [
    ['agentId', 'action'],
    ['agentId', 'outcome'],
    ['action', 'outcome'],
  ].map((columns) => new TableIndex({ columnNames: [...columns, 'createdSequence'] }));
}
