import { type MigrationInterface, type QueryRunner, TableIndex } from 'typeorm';

/** The condition as it is at this version. */
const INDEX = new TableIndex({
  columnNames: ['outcome', 'createdSequence'],
  where: `"outcome" = 'authorized' AND "via" IS NOT NULL`,
});

/** Adds the index that finds executions that their gateways have not reported. */
export class UnreportedExecutions1766250000000 implements MigrationInterface {
  up(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.createIndex('executions', INDEX);
  }

  down(queryRunner: QueryRunner): Promise<void> {
    return queryRunner.dropIndex('executions', INDEX);
  }
}
