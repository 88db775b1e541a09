import { Tally, TallyCache } from './tally';

function tallyOf(...keys: readonly string[]): Tally {
  const tally = new Tally();
  for (const key of keys) tally.add('reasons', key, 1);
  return tally;
}

describe('What is kept of past hours', () => {
  it('is at most so many numbers: older ones give way', () => {
    const cache = new TallyCache(6);
    cache.keep('2026-11-20T01', tallyOf('a', 'b'));
    expect(cache.get('2026-11-20T01')?.size).toBe(2);
    cache.keep('2026-11-20T02', tallyOf('a'));
    expect(cache.get('2026-11-20T01')?.size).toBe(2);
    cache.keep('2026-11-20T03', tallyOf('a', 'b', 'c'));
    expect(cache.get('2026-11-20T01')).toBeUndefined();
    expect(cache.get('2026-11-20T03')?.size).toBe(3);
    // A tally that is cached again counts once.
    for (let times = 0; times < 9; times += 1) cache.keep('2026-11-20T04', tallyOf('a'));
    expect(cache.get('2026-11-20T03')).toBeDefined();
    for (const name of ['2026-11-20T03', '2026-11-20T04']) cache.forget(name);
    expect(cache.isEmpty).toBe(true);
  });

  it('takes the same time for each of a million hours, with and without room', () => {
    const cache = new TallyCache(100_000);
    for (let hour = 0; hour < 1_000_000; hour += 1) cache.keep(String(hour), tallyOf());
    expect(cache.get('999999')?.size).toBe(0);
    expect(cache.get('0')).toBeUndefined();
  });
});
