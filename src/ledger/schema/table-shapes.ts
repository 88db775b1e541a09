import { Table, type TableColumnOptions, type TableIndexOptions } from 'typeorm';
import { governedColumns, optionalTextColumn, textColumn } from '../database/columns';

/** Text columns. @param names separated by spaces. */
export function texts(names: string): TableColumnOptions[] {
  return names.split(' ').map(textColumn);
}

/** Text columns that may be null, by their names. */
export function optionalTexts(names: string): TableColumnOptions[] {
  return names.split(' ').map(optionalTextColumn);
}

export function primary(column: TableColumnOptions): TableColumnOptions {
  return { ...column, isPrimary: true };
}

/** An index for lists that are filtered by columns. */
export function byCreation(...columns: string[]): TableIndexOptions {
  return { columnNames: [...columns, 'createdSequence'] };
}

/** A table of governed records, with its own columns and indexes after those that all have. */
export function governedTable(name: string, own: TableColumnOptions[], indexes: TableIndexOptions[] = []): Table {
  const columns = [...governedColumns(), ...own];
  return new Table({ name, columns, indices: [{ ...byCreation(), isUnique: true }, ...indexes] });
}
