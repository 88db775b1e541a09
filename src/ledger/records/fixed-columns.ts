import type { AnyRecordKind, GovernedRow } from '../record-kind';

/** The columns of a kind that an update leaves as they are. */
export class FixedColumns {
  readonly names: ReadonlySet<string>;

  constructor({ timeColumn, uniqueKeys = [], fixed = [] }: AnyRecordKind) {
    const time = timeColumn === undefined ? [] : [timeColumn];
    this.names = new Set(['id', 'createdSequence', ...time, ...uniqueKeys.flat(), ...fixed]);
  }

  /** @throws Error for a changed value, as an update would not write it: the entry would contradict the row. */
  requireUnchanged(previous: GovernedRow, row: GovernedRow): void {
    const before = previous as unknown as Readonly<Record<string, unknown>>;
    const after = row as unknown as Readonly<Record<string, unknown>>;
    for (const name of this.names) {
      if (before[name] !== after[name]) throw new Error(`The column ${name} never changes, not even for ${row.id}.`);
    }
  }
}
