import { haveOverlapped, type Tenure } from './tenures';

const tenure = (agentId: string, from: number, until: number | null): Tenure => ({
  agentId,
  from: `2026-01-0${from}`,
  until: until === null ? null : `2026-01-0${until}`,
});

/** Every pair, one after another. */
function byPairs(tenures: readonly Tenure[]): boolean {
  const end = ({ until }: Tenure): string => until ?? '9';
  return tenures.some((one) =>
    tenures.some((other) => one.agentId !== other.agentId && one.from < end(other) && other.from < end(one)),
  );
}

describe('Tenures', () => {
  it.each([
    ['nobody', [], false],
    ['one person with two keys', [tenure('a', 1, null), tenure('a', 2, null)], false],
    ['two people, one after the other', [tenure('a', 1, 3), tenure('b', 3, null)], false],
    ['two people at a time', [tenure('a', 1, 3), tenure('b', 2, null)], true],
    ['a person whose later key ends earlier', [tenure('a', 1, 5), tenure('a', 2, 3), tenure('b', 4, null)], true],
  ] as const)('of %s', (_who, tenures, expected) => {
    expect(haveOverlapped(tenures)).toBe(expected);
  });

  it('agree with comparing every pair', () => {
    const ends = [2, 3, 4, null];
    const all = ['a', 'b', 'c'].flatMap((agentId) =>
      [1, 2, 3].flatMap((from) =>
        ends.filter((end) => end === null || end > from).map((end) => tenure(agentId, from, end)),
      ),
    );
    for (const one of all)
      for (const other of all)
        for (const third of all) {
          const tenures = [one, other, third];
          expect([tenures, haveOverlapped(tenures)]).toEqual([tenures, byPairs(tenures)]);
        }
  });
});
