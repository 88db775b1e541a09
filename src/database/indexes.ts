import type { QueryRunner, TableIndex } from 'typeorm';

/**
 * Makes indexes one after another. The query runner's own `createIndices` works on all of them at once; on SQLite it
 * fails now and then, because one reads the table's indexes while another is being made.
 */
export async function createIndexes(
  queryRunner: QueryRunner,
  table: string,
  indexes: readonly TableIndex[],
): Promise<void> {
  for (const index of indexes) await queryRunner.createIndex(table, index);
}

/** Drops indexes one after another, for the same reason. */
export async function dropIndexes(
  queryRunner: QueryRunner,
  table: string,
  indexes: readonly TableIndex[],
): Promise<void> {
  for (const index of indexes) await queryRunner.dropIndex(table, index);
}
