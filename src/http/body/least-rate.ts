/** Milliseconds, and the bytes that a body brings at least in each of them. */
export const SPAN = 5_000;
export const LEAST_BYTES = 40 * 1024;

/** Watches that a body comes no more slowly than the least rate, from the call of `watch` on. */
export class LeastRate {
  private timer: NodeJS.Timeout | undefined;
  private arrived = 0;

  constructor(private readonly onTooSlow: () => void) {}

  watch(): void {
    this.arrived = 0;
    this.timer = setTimeout(() => {
      if (this.arrived < LEAST_BYTES) this.onTooSlow();
      else this.watch();
    }, SPAN).unref();
  }

  add(bytes: number): void {
    this.arrived += bytes;
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
