/** Milliseconds between two lines about one step. */
const INTERVAL_MS = 2_000;

/** Prints the progress of a long program on standard error. */
export class Progress {
  private printedAt = 0;

  begin(step: string): void {
    this.print(step);
  }

  /** Prints a text, but only from time to time. */
  update(text: string): void {
    if (performance.now() - this.printedAt >= INTERVAL_MS) this.print(text);
  }

  private print(text: string): void {
    this.printedAt = performance.now();
    process.stderr.write(`${text}\n`);
  }
}
