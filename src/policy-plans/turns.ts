import { unavailable } from '../errors/domain-error';

const RETRY_AFTER = 5;

/** Lets one go at a time, and one wait. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();
  private inside = 0;

  /** @param what stands in the error. */
  constructor(private readonly what: string) {}

  /** @throws UNAVAILABLE when one is under way and another one waits already. */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.inside >= 2) throw unavailable(`${this.what} is under way, and one waits for it.`, RETRY_AFTER);
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
