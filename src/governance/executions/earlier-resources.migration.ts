import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** The condition as it is at this version. The name that TypeORM makes does not tell the order of the columns. */
const INDEX = new TableIndex({
  name: 'IDX_executions_earlier_resource',
  columnNames: ['run', 'agentId', 'resourceKey', 'action'],
  where: `"run" IS NOT NULL AND "outcome" IN ('authorized', 'running', 'executed', 'failed', 'interrupted')`,
});

/** Adds the index by which conditions find the actions on one resource in a run, whatever else was done in it. */
export class EarlierResources1766700000000 implements MigrationInterface {
  up(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.createIndex('executions', INDEX);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.dropIndex('executions', INDEX);
  }
}
