import { decodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid';

/** Sorts before every ULID. */
export const FIRST_ULID = '0'.repeat(26);

/**
 * ULIDs (https://github.com/ulid/spec, monotonic) that sort after one another however the clock runs: one for a later
 * millisecond is random, one for the same or an earlier millisecond is the last one plus one.
 */
export class UlidSequence {
  constructor(public last: string) {}

  next(milliseconds: number): string {
    this.last =
      milliseconds > decodeTime(this.last)
        ? ulid(milliseconds)
        : this.last.slice(0, TIME_LEN) + incrementBase32(this.last.slice(TIME_LEN));
    return this.last;
  }
}
