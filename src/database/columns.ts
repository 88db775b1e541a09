import type { TableColumnOptions, QueryRunner, TableIndex } from 'typeorm';

/** Columns of migrations, of the types that both databases store alike. JSON is text. */
export function textColumn(name: string): TableColumnOptions {
  return { name, type: 'text' };
}

export function optionalTextColumn(name: string): TableColumnOptions {
  return { name, type: 'text', isNullable: true };
}

export function integerColumn(name: string): TableColumnOptions {
  return { name, type: 'integer' };
}

/** Sequences and what counts them outgrow 32 bits. */
export function sequenceColumn(name: string): TableColumnOptions {
  return { name, type: 'bigint' };
}

/** What every table of governed records begins with. */
export function governedColumns(): TableColumnOptions[] {
  return [{ ...textColumn('id'), isPrimary: true }, sequenceColumn('createdSequence')];
}

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
