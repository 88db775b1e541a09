import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexes, dropIndexes } from '../database/columns';

/** Entities can be listed by name. */
export class EntityNames1764100000042 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexes(queryRunner, 'entities', indexes());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndexes(queryRunner, 'entities', indexes());
  }
}

function indexes(): TableIndex[] {
  return [new TableIndex({ columnNames: ['name', 'createdSequence'] })];
}
