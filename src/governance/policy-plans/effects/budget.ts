/** Steps between checks of the clock: most steps take far less time than a check. */
const STEPS_BETWEEN_CHECKS = 256;

/** Thrown when the time of a plan is over. */
export class OutOfTime extends Error {}

/** Time limit of a plan, and the reason why its result is incomplete. */
export class Budget {
  private readonly end: number;
  private steps = 0;
  /** Reason why something is left out; null if nothing is. */
  reason: string | null = null;

  constructor(readonly timeout: number) {
    this.end = performance.now() + timeout;
  }

  /** Checks the time; call it between small steps. @throws OutOfTime */
  step(): void {
    this.steps += 1;
    if (this.steps % STEPS_BETWEEN_CHECKS === 0 && performance.now() > this.end) throw new OutOfTime();
  }

  /** Notes that something is left out; the first reason is reported. */
  leaveOut(reason: string): void {
    this.reason ??= reason;
  }
}
