interface Sharer<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** One run of something long, and those that wait for what it comes to. */
export class SharedRun<Wish, Result> {
  /** What those that share it want to know beside. */
  readonly wishes = new Set<Wish>();
  private readonly sharers = new Set<Sharer<Result>>();
  private readonly abandonment = new AbortController();

  constructor(readonly from: number) {}

  /** Aborted when nobody waits for it any more. */
  get abandoned(): AbortSignal {
    return this.abandonment.signal;
  }

  /** Waits for the result; throws the reason of the signal as soon as that is aborted. */
  join(leaving: AbortSignal | undefined): Promise<Result> {
    return new Promise((resolve, reject) => {
      const sharer = { resolve, reject };
      this.sharers.add(sharer);
      leaving?.addEventListener('abort', () => this.leave(sharer, leaving.reason), { once: true });
    });
  }

  /** Resolves when the work has ended, whatever it came to. */
  async perform(work: () => Promise<Result>): Promise<void> {
    try {
      const result = await work();
      for (const { resolve } of this.sharers) resolve(result);
    } catch (error) {
      for (const { reject } of this.sharers) reject(error);
    }
    this.sharers.clear();
  }

  private leave(sharer: Sharer<Result>, reason: unknown): void {
    if (!this.sharers.delete(sharer)) return;
    sharer.reject(reason);
    if (this.sharers.size === 0) this.abandonment.abort(reason);
  }
}
