import { RowDigest } from './row-digest';

function digestOf(rows: readonly unknown[]): RowDigest {
  const digest = new RowDigest();
  for (const row of rows) digest.add(row);
  return digest;
}

describe('RowDigest', () => {
  const rows = [
    ['a', 1, null],
    ['b', 2, 'x'],
  ];

  it('is equal for equal rows in any order', () => {
    expect(digestOf(rows).equals(digestOf(rows.toReversed()))).toBe(true);
  });

  it.each([
    ['one is missing', rows.slice(1)],
    ['one is there twice', [...rows, ...rows.slice(1)]],
    ['a value differs', [['a', 1, ''], rows[1]]],
    [
      'values are swapped between rows',
      [
        ['b', 1, null],
        ['a', 2, 'x'],
      ],
    ],
  ])('differs where %s', (_where, others) => {
    expect(digestOf(rows).equals(digestOf(others))).toBe(false);
  });
});
