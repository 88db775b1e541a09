import { DataLoader } from './point-reader';

/** A database whose statements end when the test says so. */
class HeldDatabase {
  readonly statements: { readonly values: readonly string[]; readonly end: (failure?: Error) => void }[] = [];

  readonly readAmong = (values: readonly string[]): Promise<ReadonlyMap<string, string>> =>
    new Promise((resolve, reject) => {
      const found = new Map(values.filter((value) => value !== 'missing').map((value) => [value, `row of ${value}`]));
      this.statements.push({ values, end: (failure) => (failure ? reject(failure) : resolve(found)) });
    });

  async end(failure?: Error): Promise<void> {
    this.statements.at(-1)?.end(failure);
    await new Promise(setImmediate);
  }
}

describe('DataLoader', () => {
  let database: HeldDatabase;
  let reader: DataLoader<string>;

  beforeEach(() => {
    database = new HeldDatabase();
    reader = new DataLoader(database.readAmong);
  });

  it('reads immediately if no statement is running', async () => {
    const read = reader.find('a');
    expect(database.statements.map(({ values }) => values)).toEqual([['a']]);
    await database.end();
    await expect(read).resolves.toBe('row of a');
  });

  it('combines reads that arrive during a statement, and never answers them from that statement', async () => {
    const reads = ['a', 'a', 'b', 'missing'].map((value) => reader.find(value));
    await database.end();
    expect(database.statements.map(({ values }) => values)).toEqual([['a'], ['a', 'b', 'missing']]);
    await database.end();
    await expect(Promise.all(reads)).resolves.toEqual(['row of a', 'row of a', 'row of b', undefined]);
  });

  it('uses further statements if more reads wait than fit into one', async () => {
    const reads = Array.from({ length: 600 }, (_, index) => reader.find(String(index)));
    for (let statement = 0; statement < 4; statement += 1) await database.end();
    expect(database.statements.map(({ values }) => values.length)).toEqual([1, 256, 256, 87]);
    await expect(Promise.all(reads)).resolves.toHaveLength(600);
  });

  it('fails only the reads of a failed statement', async () => {
    const [first, second] = [reader.find('a'), reader.find('b')];
    const refused = expect(first).rejects.toThrow('gone');
    await database.end(new Error('gone'));
    await refused;
    await database.end();
    await expect(second).resolves.toBe('row of b');
  });
});
