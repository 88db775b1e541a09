import type { ColumnDefinition } from '../../database/dialect';
import type { RecordCodec } from '../records/record-codec';
import type { PageSource } from './where-clause';

/** How the records of a kind are listed, with these of their columns. */
export function sourceOf({ table, kind }: RecordCodec, columns: readonly ColumnDefinition[]): PageSource {
  return {
    table,
    columns: columns.map(({ name }) => name),
    longColumns: columns.filter(({ type }) => type === 'json').map(({ name }) => name),
    orderColumn: 'createdSequence',
    timeColumn: kind.timeColumn ?? null,
    counter: kind.counter,
    countedBy: kind.countedBy ?? [],
    listColumns: kind.listColumns ?? [],
    selectiveColumns: [],
    isLedger: false,
  };
}
