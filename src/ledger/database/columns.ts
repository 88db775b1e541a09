import type { TableColumnOptions, QueryRunner, TableIndex } from 'typeorm';

/** Columns for migrations, of types that both databases store alike. JSON is text. */
export function textColumn(name: string): TableColumnOptions {
  return { name, type: 'text' };
}

export function optionalTextColumn(name: string): TableColumnOptions {
  return { name, type: 'text', isNullable: true };
}

export function integerColumn(name: string): TableColumnOptions {
  return { name, type: 'integer' };
}

/** Sequences, and counts of them, can exceed 32 bits. */
export function sequenceColumn(name: string): TableColumnOptions {
  return { name, type: 'bigint' };
}

/** The columns that every table of governed records begins with. */
export function governedColumns(): TableColumnOptions[] {
  return [{ ...textColumn('id'), isPrimary: true }, sequenceColumn('createdSequence')];
}

/**
 * Creates indexes one after another. The query runner's own `createIndices` creates all of them at once; on SQLite that
 * fails now and then, because one reads the table's indexes while another is being created.
 */
export async function createIndexes(
  queryRunner: QueryRunner,
  table: string,
  indexes: readonly TableIndex[],
): Promise<void> {
  for (const index of indexes) await queryRunner.createIndex(table, index);
}
