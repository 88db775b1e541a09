import { setImmediate as nextTurn } from 'node:timers/promises';
import { TableIndex, type QueryRunner } from 'typeorm';
import { createIndexes } from './columns';

const INDEXES = ['a', 'b', 'c'].map((column) => new TableIndex({ columnNames: [column] }));

describe('Indexes', () => {
  it('are made one after another', async () => {
    const seen: string[] = [];
    const one = async (_table: unknown, index: unknown): Promise<void> => {
      const [column] = (index as TableIndex).columnNames;
      seen.push(`begin ${column}`);
      await nextTurn();
      seen.push(`end ${column}`);
    };
    const queryRunner: Pick<QueryRunner, 'createIndex'> = { createIndex: one };
    await createIndexes(queryRunner as QueryRunner, 'notes', INDEXES);
    expect(seen).toEqual(['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
  });
});
