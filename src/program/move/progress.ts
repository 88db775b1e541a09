/** Milliseconds between two lines about one step. */
const INTERVAL_MS = 2_000;

/** Says on standard error how far a long program is. */
export class Progress {
  private printedAt = 0;

  begin(step: string): void {
    this.print(step);
  }

  /** Printed only now and then. */
  update(text: string): void {
    if (performance.now() - this.printedAt >= INTERVAL_MS) this.print(text);
  }

  private print(text: string): void {
    this.printedAt = performance.now();
    process.stderr.write(`${text}\n`);
  }
}
