import { durationFault, addDuration, parseDuration } from './duration';

describe('Durations', () => {
  it.each([
    ['PT1S', 1_000],
    ['PT90M', 5_400_000],
    ['P1D', 86_400_000],
    ['P1DT12H', 129_600_000],
    ['P2W', 1_209_600_000],
    ['P365D', 31_536_000_000],
    ['PT01H', 3_600_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([
    '',
    'P',
    'PT',
    'P1DT',
    'P1W1D',
    'P1Y',
    'P1M',
    'PT1.5S',
    '-P1D',
    'p1d',
    ' P1D',
    'P1D ',
    'PT0S',
    'P366D',
    'P1H',
  ])('refuses "%s"', (text) => {
    expect(parseDuration(text)).toBeUndefined();
    expect(durationFault(text)).toContain('ISO 8601');
  });

  it('determine when something ends', () => {
    expect(addDuration('PT1H', '2026-11-20T23:30:00.000Z')).toBe('2026-11-21T00:30:00.000Z');
  });
});
