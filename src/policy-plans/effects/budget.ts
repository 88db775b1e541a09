/** Looks at the clock only so often: most steps are far shorter than a look. */
const STEPS_BETWEEN_LOOKS = 256;

/** Thrown when the time of a plan is over. */
export class OutOfTime extends Error {}

/** How long a plan may take, and why what it found is not all. */
export class Budget {
  private readonly end: number;
  private steps = 0;
  private found: string | null = null;

  constructor(readonly timeout: number) {
    this.end = performance.now() + timeout;
  }

  /** To be called between small parts of the work. @throws OutOfTime */
  step(): void {
    this.steps += 1;
    if (this.steps % STEPS_BETWEEN_LOOKS === 0 && performance.now() > this.end) throw new OutOfTime();
  }

  /** Something is left out; the first reason is reported. */
  leaveOut(reason: string): void {
    this.found ??= reason;
  }

  get reason(): string | null {
    return this.found;
  }
}
