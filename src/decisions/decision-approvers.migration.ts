import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';

const MEMBERS = ['executionId', 'actionHash', 'approvers', 'executeWithin'];

/** Adds a decision's approvers, and the execution that waits for it. */
export class DecisionApprovers1764100000040 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const member of MEMBERS) await queryRunner.query(`ALTER TABLE "decisions" ADD COLUMN "${member}" text`);
    await queryRunner.createIndex('decisions', byExecution());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropIndex('decisions', byExecution());
    for (const member of MEMBERS) await queryRunner.query(`ALTER TABLE "decisions" DROP COLUMN "${member}"`);
  }
}

function byExecution(): TableIndex {
  return new TableIndex({ columnNames: ['executionId', 'createdSequence'] });
}
