import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { IS_EARLIER } from './execution.entity';

/** By what conditions find earlier executions of a run. */
export class EarlierExecutions1765300000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "executions" ADD COLUMN "resourceKey" text');
    const columnNames = ['run', 'agentId', 'action', 'resourceKey'];
    await queryRunner.createIndex('executions', new TableIndex({ columnNames, where: IS_EARLIER }));
  }

  /** A version that does not know these conditions would decide as if they were about parameters. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back from conditions on a run: restore a backup from before.'));
  }
}
