import { wholeNumber, type Variables } from './variable';

const HOUR = 3_600_000;
const CENTURY = 100 * 365 * 24 * HOUR;

/** The variables for recognising a wrong clock. */
export const CLOCK_VARIABLES: Pick<Variables, 'maxClockStep' | 'acceptedHeadTime'> = {
  maxClockStep: {
    name: 'MAX_CLOCK_STEP',
    description:
      'Milliseconds by which the clock may jump while the service runs, or the last entry be ahead of it at a start.',
    default: String(HOUR),
    example: '3600000',
    ...wholeNumber(60_000, CENTURY),
  },
  acceptedHeadTime: {
    name: 'ACCEPT_HEAD_TIME',
    description:
      'Time of a last entry that is accepted although it is ahead of the clock: as shown when the start is refused.',
    default: '',
    expected: 'a time in UTC with milliseconds, such as 2026-11-22T08:30:00.000Z',
    example: '2026-11-22T08:30:00.000Z',
    parse: (text) => (text === '' ? null : parseTime(text)),
  },
};

function parseTime(text: string): string | undefined {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text ? text : undefined;
}
