/** Runs pieces of work one at a time, in order of arrival. One that fails does not hold up the next. */
export class OneAtATime {
  private last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.last.then(work, work);
    this.last = turn;
    return turn;
  }

  /** Settles with the work that arrived last. */
  get done(): Promise<unknown> {
    return this.last;
  }
}
