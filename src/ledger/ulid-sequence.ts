import { decodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid';
import { randomFraction } from './random-fraction';

/** Sorts before every ULID. */
export const FIRST_ULID = '0'.repeat(26);

export function isUlid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value);
}

/**
 * ULIDs (https://github.com/ulid/spec, monotonic) that sort after one another however the clock runs: one for a later
 * millisecond is random, one for the same or an earlier millisecond is the last one plus one.
 */
export class UlidSequence {
  private milliseconds: number;

  constructor(public last: string) {
    this.milliseconds = decodeTime(last);
  }

  next(milliseconds: number): string {
    if (milliseconds > this.milliseconds) {
      this.milliseconds = milliseconds;
      this.last = ulid(milliseconds, randomFraction);
    } else {
      this.last = this.last.slice(0, TIME_LEN) + incrementBase32(this.last.slice(TIME_LEN));
    }
    return this.last;
  }
}
