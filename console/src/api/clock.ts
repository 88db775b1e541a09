/** Milliseconds by which the service's clock is ahead of this machine's; 0 if they roughly agree. */
let ahead = 0;

/** Milliseconds: a `Date` header has no fractions of a second, and an answer takes time to arrive. */
const TOLERANCE = 5_000;

/** Compares the `Date` header of an answer with this machine's clock. */
export function noteServiceTime(date: string | null): void {
  const apart = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(apart)) ahead = Math.abs(apart) < TOLERANCE ? 0 : apart;
}

/** The time by the service's clock, which ages and deadlines refer to: this machine's may be wrong by hours. */
export function serviceNow(): number {
  return Date.now() + ahead;
}
