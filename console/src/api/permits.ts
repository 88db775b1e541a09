/** Limits how often something is done: `most` times at once, then once per `every` milliseconds. */
export class Permits {
  private available: number;
  private since = Date.now();

  constructor(
    private readonly most: number,
    private readonly every: number,
  ) {
    this.available = most;
  }

  /** Uses one permit; false if there is none at the moment. */
  take(): boolean {
    const now = Date.now();
    this.available = Math.min(this.most, this.available + Math.max(0, now - this.since) / this.every);
    this.since = now;
    if (this.available < 1) return false;
    this.available -= 1;
    return true;
  }
}
