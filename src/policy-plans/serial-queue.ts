import { unavailable } from '../errors/domain-error';

const RETRY_AFTER = 5;

/** Runs one task at a time, and lets one wait. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve();
  private inside = 0;

  /** @param what named in the error. */
  constructor(private readonly what: string) {}

  /** @throws UNAVAILABLE when one task is running and another is already waiting. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.inside >= 2) throw unavailable(`${this.what} is running, and one more is waiting.`, RETRY_AFTER);
    this.inside += 1;
    const turn = this.last.then(work, work);
    this.last = turn;
    try {
      return await turn;
    } finally {
      this.inside -= 1;
    }
  }
}
