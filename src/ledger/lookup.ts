import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from './record-kind';

/** A row that a command will look up by a unique text column. */
export interface Lookup {
  readonly kind: AnyRecordKind;
  readonly column: string;
  readonly value: string;
  /** Only its existence will be asked for. */
  readonly isExistence?: true;
}

export function existence(kind: AnyRecordKind, id: string): Lookup {
  return { kind, column: 'id', value: id, isExistence: true };
}

export function byId(kind: AnyRecordKind, id: string): Lookup {
  return { kind, column: 'id', value: id };
}

/** By the only column of one of the kind's unique keys. */
export function byKey<Row extends GovernedRow>(kind: RecordKind<Row>, column: ColumnOf<Row>, value: string): Lookup {
  return { kind, column, value };
}
