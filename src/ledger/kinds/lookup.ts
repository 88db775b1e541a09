import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from './record-kind';

/** A row that a command will look up by a unique text column. */
export interface Lookup {
  readonly kind: AnyRecordKind;
  readonly column: string;
  readonly value: string;
}

export function byId(kind: AnyRecordKind, id: string): Lookup {
  return { kind, column: 'id', value: id };
}

/** Looks a row up by a column that alone is a unique key. */
export function byKey<Row extends GovernedRow>(kind: RecordKind<Row>, column: ColumnOf<Row>, value: string): Lookup {
  return { kind, column, value };
}
