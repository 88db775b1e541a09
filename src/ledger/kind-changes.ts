import type { SqlValue } from '../database/sql-connection';
import { counterName, listItems } from './counter-name';
import type { RecordCodec } from './record-codec';
import type { RowChange } from './row-overlay';

/** The changes to one kind, as the rows of its statements. */
export class KindChanges {
  readonly removed: SqlValue[][] = [];
  readonly changed: (readonly SqlValue[])[] = [];
  readonly added: (readonly SqlValue[])[] = [];
  /** Ids of the records whose list items are written anew. */
  readonly formerItems: SqlValue[][] = [];
  readonly items: SqlValue[][] = [];

  constructor(
    readonly codec: RecordCodec,
    changes: readonly RowChange[],
  ) {
    for (const change of changes) {
      if (change.codec !== codec) continue;
      if (change.encoded === null) this.removed.push([change.id]);
      else (change.isNew ? this.added : this.changed).push(change.encoded.values);
      if (codec.kind.listColumns !== undefined) this.addItems(change);
    }
  }

  get isNeeded(): boolean {
    return this.removed.length + this.changed.length + this.added.length > 0;
  }

  private addItems({ row, id, isNew }: RowChange): void {
    if (!isNew) this.formerItems.push([id]);
    if (row === null) return;
    const { kind } = this.codec;
    for (const { column, value } of listItems(kind, row)) {
      this.items.push([counterName(kind.counter, column, value), row.createdSequence, id]);
    }
  }
}
