import { type Failure, nextAttemptAt } from './retry-schedule';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** The random value that gives the delay without jitter. */
const MIDDLE = 0.5;

function delay(failure: Partial<Failure>, random = MIDDLE): number | null {
  const at = nextAttemptAt({ now: NOW, status: 500, retryAfter: null, attempts: 1, since: NOW, ...failure }, random);
  return at === null ? null : at - NOW;
}

describe('nextAttemptAt', () => {
  it.each([
    [1, 1 * SECOND],
    [2, 2 * SECOND],
    [3, 4 * SECOND],
    [12, 2_048 * SECOND],
    [13, HOUR],
    [1_000_000, HOUR],
  ])('doubles from a second to an hour: after %i attempts', (attempts, expected) => {
    expect(delay({ attempts })).toBe(expected);
  });

  it('is a tenth earlier or later', () => {
    expect(delay({ attempts: 13 }, 0)).toBe(54 * 60 * SECOND);
    expect(delay({ attempts: 13 }, 1)).toBe(66 * 60 * SECOND);
  });

  it.each([
    ['seconds that are longer', '120', 120 * SECOND],
    ['seconds that are shorter', '0', 8 * SECOND],
    ['more than an hour', '86400', HOUR],
    ['a date ahead', new Date(NOW + 30 * SECOND).toUTCString(), 30 * SECOND],
    ['a date that has passed', new Date(NOW - HOUR).toUTCString(), 8 * SECOND],
    ['a date in years', new Date(NOW + 9_000 * HOUR).toUTCString(), HOUR],
    ['no time', 'soon', 8 * SECOND],
    ['no number of seconds', '-1e9', 8 * SECOND],
  ])('waits as long as the endpoint says, up to an hour: %s', (_, retryAfter, expected) => {
    expect(delay({ attempts: 4, retryAfter })).toBe(expected);
  });

  it('ends three days after the first failure, with a last attempt then', () => {
    const since = NOW - 71.5 * HOUR;
    expect(delay({ attempts: 80, since })).toBe(0.5 * HOUR);
    expect(delay({ attempts: 81, since: NOW - 72 * HOUR })).toBeNull();
    expect(delay({ attempts: 81, since: NOW - 72 * HOUR + 1 })).toBe(1);
  });

  it('ends at once where the endpoint is gone', () => {
    expect(delay({ status: 410, retryAfter: '5' })).toBeNull();
    expect(delay({ status: 404 })).toBe(SECOND);
    expect(delay({ status: null })).toBe(SECOND);
  });
});
