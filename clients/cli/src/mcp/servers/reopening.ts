/** Times in milliseconds after which an ended stream is opened again, whatever the server says. */
const [MIN_REOPEN_MS, MAX_REOPEN_MS] = [1_000, 60_000];

/** When the ended streams of one connection are opened again: later and later while they end at once. */
export class Reopening {
  /** When the last stream is opened again, in milliseconds. */
  private openedAt = -Infinity;
  /** The number of times in a row that a stream has ended at once. */
  private earlyEnds = 0;

  /** Milliseconds until a stream that ends now is opened again. @param serverDelay what the server says */
  delay(serverDelay: number, now: number): number {
    // Several streams that end together count once.
    if (now >= this.openedAt) this.earlyEnds = now - this.openedAt < MIN_REOPEN_MS ? this.earlyEnds + 1 : 0;
    const delay = Math.min(Math.max(serverDelay, MIN_REOPEN_MS * 2 ** this.earlyEnds), MAX_REOPEN_MS);
    this.openedAt = Math.max(this.openedAt, now + delay);
    return delay;
  }
}
