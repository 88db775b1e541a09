import type { TableColumnOptions } from 'typeorm';

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
