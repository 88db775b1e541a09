import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexes, dropIndexes } from '../database/columns';

const MEMBERS = ['reason', 'actionHash', 'approvedUntil'];

/** Adds the approval an execution waits for, the hash of what it is for, and until when it is valid. */
export class ExecutionApprovals1764100000012 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const member of MEMBERS) await queryRunner.query(`ALTER TABLE "executions" ADD COLUMN "${member}" text`);
    await createIndexes(queryRunner, 'executions', indexes());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndexes(queryRunner, 'executions', indexes());
    for (const member of MEMBERS) await queryRunner.query(`ALTER TABLE "executions" DROP COLUMN "${member}"`);
  }
}

function indexes(): TableIndex[] {
  const lists = [['decisionId'], ['actionHash'], ['actionHash', 'outcome'], ['resourceType'], ['resourceId']];
  return [
    ...lists.map((columns) => new TableIndex({ columnNames: [...columns, 'createdSequence'] })),
    new TableIndex({ columnNames: ['approvedUntil', 'id'], where: `"outcome" = 'approved'` }),
  ];
}
