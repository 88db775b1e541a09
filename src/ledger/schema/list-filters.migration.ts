import { type MigrationInterface, type QueryRunner, Table, TableIndex } from 'typeorm';
import { createIndexes, dropIndexes, sequenceColumn, textColumn } from '../database/columns';
import { countRows } from './count-rows';
import { ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../records/counter-name';
import { LIST_ITEMS } from '../records/statements';

/** Keeps the cost of filtered lists flat: an index of the items of JSON lists, indexes for pairs of filters, totals. */
export class ListFilters1763700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(listItems());
    await createIndexes(queryRunner, 'ledger_entries', pairs());
    await countRows(queryRunner, 'ledger_entries', ENTRY_COUNTER, ENTRIES_COUNTED_BY);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndexes(queryRunner, 'ledger_entries', pairs());
    await queryRunner.dropTable(LIST_ITEMS);
  }
}

function listItems(): Table {
  return new Table({
    name: LIST_ITEMS,
    columns: [
      { ...textColumn('item'), isPrimary: true },
      { ...sequenceColumn('createdSequence'), isPrimary: true },
      textColumn('recordId'),
    ],
    indices: [{ columnNames: ['recordId'] }],
  });
}

function pairs(): TableIndex[] {
  return [
    ['agentId', 'action'],
    ['agentId', 'outcome'],
    ['action', 'outcome'],
  ].map((columns) => new TableIndex({ columnNames: [...columns, 'sequence'] }));
}
