import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** The condition as it is at this version. */
const INDEX = new TableIndex({ columnNames: ['createdSequence'], where: '"via" IS NOT NULL' });

/** Adds the index for gateways' lists of executions with an upstream, in order of creation. */
export class GatewayExecutionsList1766150000000 implements MigrationInterface {
  up(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.createIndex('executions', INDEX);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.dropIndex('executions', INDEX);
  }
}
