import type { SqlSessions } from '../database/sql-connection';
import type { AnyRecordKind, GovernedRow } from '../kinds/record-kind';
import type { RowQuery } from '../records/row-query';
import { RowQueryCache } from './batch-reads';

const KIND = { subjectType: 'thing' } as AnyRecordKind;

describe('Cached row queries', () => {
  let read: string[];
  const connection: Pick<SqlSessions, 'all'> = {
    all: (_, [keys] = []) => {
      const all = JSON.parse(String(keys)) as [number, ...string[]][];
      read.push(...all.map(([, key = '']) => key));
      return Promise.resolve([]);
    },
  };
  let cache: RowQueryCache;

  beforeEach(() => {
    read = [];
    cache = new RowQueryCache(connection);
  });

  const query = (key: string, ...values: RowQuery['dependsOn'][number]['values'][]): RowQuery => {
    return { name: 'q', sql: 'SELECT', key: [key], dependsOn: values.map((one) => ({ kind: KIND, values: one })) };
  };

  /** Returns which of the queries are read again. */
  async function readAgain(queries: readonly RowQuery[]): Promise<string[]> {
    read = [];
    await cache.read(queries);
    return read;
  }

  it('are read again if a changed row has the values of one of their dependencies', async () => {
    const queries = [
      query('name', { name: 'a' }),
      query('both', { name: 'a', team: 'red' }),
      query('otherwise', { team: 'red', name: 'a' }, { name: 'z' }),
      query('other', { name: 'b' }),
      query('none', { name: 'a', team: null }),
    ];
    await cache.read(queries);
    expect(await readAgain(queries)).toEqual([]);
    cache.forget(KIND, { id: '1', createdSequence: 1, name: 'a', team: 'red' } as GovernedRow);
    expect(await readAgain(queries)).toEqual(['name', 'both', 'otherwise']);
    cache.forget(KIND, { id: '1', createdSequence: 1, name: 'z', team: 'red' } as GovernedRow);
    expect(await readAgain(queries)).toEqual(['otherwise']);
    cache.forget({ subjectType: 'other' } as AnyRecordKind, null);
    expect(await readAgain(queries)).toEqual([]);
    cache.forget(KIND, null);
    expect(await readAgain(queries)).toHaveLength(5);
  });

  it('cost a changed row one look at its columns, however many they are', async () => {
    await cache.read(Array.from({ length: 1_000 }, (_, index) => query(`${index}`, { name: `name ${index}` })));
    let looks = 0;
    const row = {
      ...{ id: '1', createdSequence: 1 },
      get name() {
        looks += 1;
        return 'another';
      },
    };
    cache.forget(KIND, row);
    expect(looks).toBe(1);
  });
});
