import { Tally, TallyCache } from './tally';

function tallyOf(...keys: readonly string[]): Tally {
  const tally = new Tally();
  for (const key of keys) tally.add('reasons', key, 1);
  return tally;
}

describe('What is kept of past hours', () => {
  it('is at most so many numbers: the oldest give way', () => {
    const cache = new TallyCache(5);
    cache.keep('2026-11-20T01', tallyOf('a', 'b'));
    cache.keep('2026-11-20T02', tallyOf('a'));
    expect(cache.get('2026-11-20T01')?.size).toBe(2);
    cache.keep('2026-11-20T03', tallyOf());
    expect(cache.get('2026-11-20T01')).toBeUndefined();
    expect(cache.get('2026-11-20T02')?.size).toBe(1);
    // A tally that is cached again counts once.
    for (let times = 0; times < 9; times += 1) cache.keep('2026-11-20T02', tallyOf('a'));
    expect(cache.get('2026-11-20T03')).toBeDefined();
    for (const name of ['2026-11-20T02', '2026-11-20T03']) cache.forget(name);
    expect(cache.isEmpty).toBe(true);
  });
});
