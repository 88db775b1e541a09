import { preparedQuery } from './postgres-connection';

describe('A prepared query', () => {
  it('has one name for each text', () => {
    const first = preparedQuery('SELECT $1', ['a']);
    expect(first).toEqual({ name: expect.stringMatching(/^s\d+$/), text: 'SELECT $1', values: ['a'] });
    expect(preparedQuery('SELECT $1', ['b']).name).toBe(first.name);
    expect(preparedQuery('SELECT $1 + 1', [1]).name).not.toBe(first.name);
  });

  it('has none beyond a maximum number of texts, so that sessions do not grow for ever', () => {
    const names = Array.from({ length: 1_000 }, (_unused, index) => preparedQuery(`SELECT ${index}`, []).name);
    expect(new Set(names).size).toBeLessThan(400);
    expect(names.at(-1)).toBeUndefined();
    expect(preparedQuery('SELECT 0', []).name).toBe(names[0]);
  });
});
