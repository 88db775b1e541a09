/** Runs one piece of work at a time, in the order of the calls. A failure affects no other work. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all work passed in before this call has ended. */
  async ended(): Promise<void> {
    await this.last;
  }
}
