import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Adds an index of decisions that can expire: finding those that are due costs the same, however many decisions there
 * are.
 */
export class DecisionDue1763900000040 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createIndex('decisions', due());
    await queryRunner.dropIndex('decisions', previous());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createIndex('decisions', previous());
    await queryRunner.dropIndex('decisions', due());
  }
}

function due(): TableIndex {
  const where = `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL`;
  return new TableIndex({ columnNames: ['expiresAt', 'id'], where });
}

function previous(): TableIndex {
  return new TableIndex({ columnNames: ['status', 'expiresAt'] });
}
