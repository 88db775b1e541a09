import fc from 'fast-check';
import { parseTimestamp, parseTimestampOrDate } from './timestamp';

describe('parseTimestamp', () => {
  it.each([
    ['2026-11-20T06:18:03Z', '2026-11-20T06:18:03.000Z'],
    ['2026-11-20t06:18:03z', '2026-11-20T06:18:03.000Z'],
    ['2026-11-20T06:18:03.1Z', '2026-11-20T06:18:03.100Z'],
    ['2026-11-20T06:18:03.1239999Z', '2026-11-20T06:18:03.123Z'],
    ['2026-11-20T06:18:03+05:30', '2026-11-20T00:48:03.000Z'],
    ['2026-01-01T00:30:00-23:59', '2026-01-02T00:29:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, time) => {
    expect(parseTimestamp(text)).toBe(time);
  });

  it.each([
    '2026-11-20',
    '2026-11-20T06:18:03',
    '2026-11-20T06:18Z',
    '2026-11-20 06:18:03Z',
    '2026-11-20T06:18:03,5Z',
    '2026-11-20T06:18:03.Z',
    '2026-11-20T06:18:03+0530',
    '2026-11-20T06:18:03+24:00',
    '2026-11-20T06:18:03+05:60',
    '2026-11-20T24:00:00Z',
    '2026-11-20T06:60:00Z',
    '2026-11-20T06:18:60Z',
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '+002026-01-01T00:00:00Z',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    ' 2026-11-20T06:18:03Z',
    '2026-11-20T06:18:03Z\n',
    '',
  ])('%j is not a time', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('reads every time as Date does', () => {
    const times = fc.date({ min: new Date('1000-01-01'), max: new Date('9000-01-01'), noInvalidDate: true });
    fc.assert(fc.property(times, (time) => parseTimestamp(time.toISOString()) === time.toISOString()));
  });
});

describe('parseTimestampOrDate', () => {
  it('reads a date alone as midnight UTC', () => {
    expect(parseTimestampOrDate('2026-11-20')).toBe('2026-11-20T00:00:00.000Z');
    expect(parseTimestampOrDate('2026-11-20T06:18:03Z')).toBe('2026-11-20T06:18:03.000Z');
    expect(parseTimestampOrDate('2026-11-31')).toBeUndefined();
    expect(parseTimestampOrDate('2026-11')).toBeUndefined();
  });
});
