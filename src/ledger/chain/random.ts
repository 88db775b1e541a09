import { randomFillSync, randomInt } from 'node:crypto';
import { decodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid';

/** Random bytes drawn in bulk: a call to the system's generator costs more than the bytes do. */
const drawn = Buffer.alloc(4_096);
let used = drawn.length;

/** Random bytes from the cryptographic generator; a later call may overwrite them. */
function randomBytes(count: number): Buffer {
  if (used + count > drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += count;
  return drawn.subarray(used - count, used);
}

/** Returns a function that yields, call by call, `count` random numbers in [0, 1), each a multiple of 1/256. */
function randomFractions(count: number): () => number {
  const bytes = randomBytes(count);
  let read = 0;
  return () => bytes.readUInt8(read++) / 256;
}

/** Returns 16 random bytes as 22 characters of base64url. The salt keeps anyone from guessing the hashed contents. */
export function newSalt(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Returns a random number by which a process notices that another has changed a row. Counted numbers could be equal
 * after a lost commit.
 */
export function newEpoch(): number {
  return randomInt(1, 2 ** 47);
}

/** Length of the random part of a ULID, which follows the time. */
const RANDOM_LENGTH = 16;

/** Sorts before every ULID. */
export const FIRST_ULID = '0'.repeat(26);

export function isUlid(value: unknown): value is string {
  return typeof value === 'string' && /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value);
}

/**
 * ULIDs (https://github.com/ulid/spec, monotonic) that always ascend, even if the clock is set back. A later
 * millisecond begins with a random ULID; in the same or an earlier millisecond, the previous one is incremented.
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
