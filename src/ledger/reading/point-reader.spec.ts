import type { SqlSessions } from '../database/sql-connection';
import type { RecordCodec } from '../records/record-codec';
import { PointReader } from './point-reader';

/** A database whose statements end when the test says so. */
class HeldDatabase {
  readonly statements: { readonly values: readonly string[]; readonly end: (failure?: Error) => void }[] = [];
  readonly points = {
    all: (_sql: string, [json]: readonly [string]) =>
      new Promise((resolve, reject) => {
        const values = json.startsWith('[') ? (JSON.parse(json) as string[][]).flat() : [json];
        const rows = values.filter((value) => value !== 'missing').map((id) => ({ id }));
        this.statements.push({ values, end: (failure) => (failure ? reject(failure) : resolve(rows)) });
      }),
  } as unknown as SqlSessions;

  readAlone<Row>(read: () => Promise<Row>): Promise<Row> {
    return read();
  }

  async end(failure?: Error): Promise<void> {
    this.statements.at(-1)?.end(failure);
    await new Promise(setImmediate);
  }
}

const CODEC = {
  table: 'notes',
  selectWhere: () => '',
  selectSmallAmong: () => '',
  isLarge: ({ id }: { id: string }) => id === 'large',
  decode: (row: unknown) => row,
} as unknown as RecordCodec;

describe('Single records', () => {
  let database: HeldDatabase;
  let reader: PointReader;

  beforeEach(() => {
    database = new HeldDatabase();
    reader = new PointReader(database);
  });

  function find(value: string): Promise<unknown> {
    return reader.find(CODEC, 'id', value);
  }

  it('are read immediately if no statement is running', async () => {
    const read = find('a');
    expect(database.statements.map(({ values }) => values)).toEqual([['a']]);
    await database.end();
    await expect(read).resolves.toEqual({ id: 'a' });
  });

  it('are read together if they are requested during a statement, and never answered from that one', async () => {
    const reads = ['a', 'a', 'b', 'missing'].map(find);
    await database.end();
    expect(database.statements.map(({ values }) => values)).toEqual([['a'], ['a', 'b', 'missing']]);
    await database.end();
    await expect(Promise.all(reads)).resolves.toEqual([{ id: 'a' }, { id: 'a' }, { id: 'b' }, undefined]);
  });

  it('are handed out in separate iterations of the event loop if they are large: each reader makes an answer of its own', async () => {
    const sequence: string[] = [];
    const reads = ['large', 'large', 'large'].map(async (value) => sequence.push(String(Object(await find(value)).id)));
    await database.end();
    database.statements.at(-1)?.end();
    for (let turn = 0; turn < 12; turn += 1) {
      await new Promise(setImmediate);
      sequence.push('turn');
    }
    await Promise.all(reads);
    expect(sequence.join(' ')).not.toContain('large large');
  });

  it('fail alone with their statement', async () => {
    const [first, second] = [find('a'), find('b')];
    const refused = expect(first).rejects.toThrow('gone');
    await database.end(new Error('gone'));
    await refused;
    await database.end();
    await expect(second).resolves.toEqual({ id: 'b' });
  });
});
