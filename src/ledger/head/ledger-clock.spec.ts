import { clockStep } from './ledger-clock';

const HOUR = 3_600_000;

describe('clockStep', () => {
  it.each([
    ['nothing while both go on', { clock: 10, steady: 10 }, 0],
    ['nothing while the machine sleeps', { clock: 9 * HOUR, steady: 9 * HOUR }, 0],
    ['what the clock was set ahead', { clock: 25 * HOUR + 10, steady: 10 }, 25 * HOUR],
    ['what the clock was set back', { clock: 10 - HOUR, steady: 10 }, -HOUR],
    ['what the other clock was set ahead, as back', { clock: 10, steady: HOUR + 10 }, -HOUR],
    ['the sum of many steps', { clock: 3 * HOUR, steady: HOUR }, 2 * HOUR],
  ])('is %s', (_what, now, expected) => {
    const first = { clock: 1_700_000_000_000, steady: 5_000 };
    const later = { clock: first.clock + now.clock, steady: first.steady + now.steady };
    expect(clockStep(first, later)).toBe(expected);
  });
});
