import { timeInWords } from './time-words';

describe('A time in words', () => {
  it.each([
    ['2026-11-27T14:30:59.999Z', 'Europe/Berlin', 'Friday, 27 November 2026, 15:30 in Berlin (14:30 UTC)'],
    ['2026-07-01T14:30:00.000Z', 'Europe/Berlin', 'Wednesday, 1 July 2026, 16:30 in Berlin (14:30 UTC)'],
    ['2026-11-27T14:30:00.000Z', 'UTC', 'Friday, 27 November 2026, 14:30 UTC'],
    ['2026-11-27T14:30:00.000Z', 'etc/utc', 'Friday, 27 November 2026, 14:30 UTC'],
    [
      '2026-12-31T23:30:00.000Z',
      'America/Argentina/Buenos_Aires',
      'Thursday, 31 December 2026, 20:30 in Buenos Aires (23:30 UTC)',
    ],
    [
      '2026-12-31T23:30:00.000Z',
      'Asia/Kathmandu',
      'Friday, 1 January 2027, 05:15 in Kathmandu (Thursday, 31 December 2026, 23:30 UTC)',
    ],
    ['2026-11-27T14:30:00.000Z', 'CET', 'Friday, 27 November 2026, 15:30 in CET (14:30 UTC)'],
    ['2026-11-27T14:30:00.000Z', 'Etc/GMT+5', 'Friday, 27 November 2026, 09:30 in Etc/GMT+5 (14:30 UTC)'],
    // The release's own zones: a runtime of 2025 would say UTC-8.
    ['2026-12-01T20:00:00.000Z', 'America/Vancouver', 'Tuesday, 1 December 2026, 13:00 in Vancouver (20:00 UTC)'],
  ])('%s in %s', (at, zone, words) => {
    expect(timeInWords(at, zone)).toBe(words);
  });
});
