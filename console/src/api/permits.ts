/** Limits how often something is done: `most` times at once, then once per `every` milliseconds. */
export class Permits {
  private left: number;
  private since = Date.now();

  constructor(
    private readonly most: number,
    private readonly every: number,
  ) {
    this.left = most;
  }

  /** Uses one permit; false if there is none at the moment. */
  take(): boolean {
    const now = Date.now();
    this.left = Math.min(this.most, this.left + Math.max(0, now - this.since) / this.every);
    this.since = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
