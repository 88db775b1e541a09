import { decodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid';
import { randomFractions } from './random';

/** Characters after those of the time. */
const RANDOM_LENGTH = 16;

/** Sorts before every ULID. */
export const FIRST_ULID = '0'.repeat(26);

export function isUlid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value);
}

/**
 * ULIDs (https://github.com/ulid/spec, monotonic) that always sort after one another, whatever the clock does: in a
 * later millisecond a random one, in the same or an earlier millisecond the previous one plus one.
 */
export class UlidSequence {
  private milliseconds: number;

  constructor(public last: string) {
    this.milliseconds = decodeTime(last);
  }

  next(milliseconds: number): string {
    if (milliseconds > this.milliseconds) {
      this.milliseconds = milliseconds;
      this.last = ulid(milliseconds, randomFractions(RANDOM_LENGTH));
    } else {
      this.last = this.last.slice(0, TIME_LEN) + incrementBase32(this.last.slice(TIME_LEN));
    }
    return this.last;
  }
}
