interface WaitingRun<Wish, Result> {
  readonly result: Promise<Result>;
  readonly wishes: Set<Wish>;
}

/**
 * Runs of something long, one at a time. Calls that arrive while a run is under way share the next one: a run that began
 * before the call might miss what the caller has just written.
 */
export class SharedRuns<Wish, Result> {
  /** The runs that have not begun, by where they begin. */
  private readonly waiting = new Map<number, WaitingRun<Wish, Result>>();
  /** The last of the runs that have not ended. */
  private last: Promise<Result> | null = null;

  constructor(private readonly run: (from: number, wishes: ReadonlySet<Wish>) => Promise<Result>) {}

  /**
   * @param from where the run begins; calls share a run that begins at the same place.
   * @param wishes what this call wants to know beside; a run is given those of all that share it.
   */
  call(from: number, wishes: readonly Wish[] = []): Promise<Result> {
    const known = this.waiting.get(from);
    if (known !== undefined) {
      for (const wish of wishes) known.wishes.add(wish);
      return known.result;
    }
    const wanted = new Set(wishes);
    if (this.last === null) return this.followed(this.run(from, wanted));
    const begin = (): Promise<Result> => {
      this.waiting.delete(from);
      return this.run(from, wanted);
    };
    const result = this.followed(this.last.then(begin, begin));
    this.waiting.set(from, { result, wishes: wanted });
    return result;
  }

  /** Resolves when nothing runs any more. */
  async ended(): Promise<void> {
    await this.last?.catch(() => undefined);
  }

  private followed(run: Promise<Result>): Promise<Result> {
    const ended = run.finally(() => {
      if (this.last === ended) this.last = null;
    });
    this.last = ended;
    return ended;
  }
}
