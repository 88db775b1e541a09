/** Shortest and longest time in milliseconds after which an ended stream is opened again. */
const [MIN_REOPEN_MS, MAX_REOPEN_MS] = [1_000, 60_000];

/** Decides when the ended streams of one connection are opened again: later each time if they end at once. */
export class Reopening {
  /** Time in milliseconds at which the last stream is opened again. */
  private openedAt = -Infinity;
  /** The number of times in a row that a stream has ended at once. */
  private earlyEnds = 0;

  /**
   * Returns the milliseconds until a stream that ends now is opened again.
   * @param serverDelay milliseconds that the server asks for
   * @param now milliseconds of a monotonic clock
   */
  delay(serverDelay: number, now: number): number {
    // Several streams that end together count once.
    if (now >= this.openedAt) this.earlyEnds = now - this.openedAt < MIN_REOPEN_MS ? this.earlyEnds + 1 : 0;
    const delay = Math.min(Math.max(serverDelay, MIN_REOPEN_MS * 2 ** this.earlyEnds), MAX_REOPEN_MS);
    this.openedAt = Math.max(this.openedAt, now + delay);
    return delay;
  }
}
