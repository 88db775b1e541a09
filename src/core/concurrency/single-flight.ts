/** Options of one call. */
interface CallOptions<Wish> {
  /** Additional results that the caller needs; the shared run produces those of all its callers. */
  readonly wishes?: readonly Wish[];
  /** Aborted when the caller leaves: a run that nobody waits for any more ends. */
  readonly signal?: AbortSignal | undefined;
}

/** The part of a run that its work sees. */
type Run<Wish> = Pick<SingleFlightRun<Wish, unknown>, 'wishes' | 'abandoned'>;

/**
 * Runs a long task, one run at a time. Calls that arrive during a run share the next one: a run that began before the
 * call might miss what the caller has just written.
 */
export class SingleFlight<Wish, Result> {
  /** The next run, which has not started; null if no call waits for it. */
  private waiting: SingleFlightRun<Wish, Result> | null = null;
  private running: Promise<void> | null = null;
  private current: SingleFlightRun<Wish, Result> | null = null;

  constructor(private readonly work: (run: Run<Wish>) => Promise<Result>) {}

  /** @throws the reason of `signal`. */
  async call({ wishes = [], signal }: CallOptions<Wish> = {}): Promise<Result> {
    signal?.throwIfAborted();
    const run = this.waiting ?? this.added();
    for (const wish of wishes) run.wishes.add(wish);
    const result = run.join(signal);
    this.beginNext();
    return result;
  }

  get isIdle(): boolean {
    return this.running === null;
  }

  /** Resolves when nothing is running. */
  async ended(): Promise<void> {
    while (this.running !== null) await this.running;
  }

  /** Abandons both runs: their callers get the reason. Resolves when nothing is running. */
  async stop(reason: Error): Promise<void> {
    this.waiting?.abandon(reason);
    this.current?.abandon(reason);
    await this.ended();
  }

  private added(): SingleFlightRun<Wish, Result> {
    const run = new SingleFlightRun<Wish, Result>(() => {
      if (this.waiting === run) this.waiting = null;
    });
    this.waiting = run;
    return run;
  }

  private beginNext(): void {
    const run = this.waiting;
    if (this.running !== null || run === null) return;
    this.waiting = null;
    this.current = run;
    this.running = run
      .perform(() => this.work(run))
      .then(() => {
        this.running = null;
        this.beginNext();
      });
  }
}

interface Sharer<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** One run of a long task, and the callers waiting for its result. */
class SingleFlightRun<Wish, Result> {
  /** The additional results that its callers need. */
  readonly wishes = new Set<Wish>();
  private readonly sharers = new Set<Sharer<Result>>();
  /** Created on demand, because a controller costs more than a short run. */
  private abandonment: AbortController | null = null;

  constructor(private readonly onAbandoned: () => void) {}

  /** Aborted when nobody waits for it any more. */
  get abandoned(): AbortSignal {
    return this.controller.signal;
  }

  /** Waits for the result; throws the reason of the signal as soon as that is aborted. */
  join(signal: AbortSignal | undefined): Promise<Result> {
    let leave = (): void => undefined;
    const result = new Promise<Result>((resolve, reject) => {
      const sharer = { resolve, reject };
      this.sharers.add(sharer);
      leave = () => this.leave(sharer, signal?.reason);
    });
    if (signal === undefined) return result;
    signal.addEventListener('abort', leave, { once: true });
    // The signal may outlive many runs, so its listener is removed.
    return result.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Resolves when the work has ended, whether it succeeded or not. */
  async perform(work: () => Promise<Result>): Promise<void> {
    try {
      const result = await work();
      for (const { resolve } of this.sharers) resolve(result);
    } catch (error) {
      for (const { reject } of this.sharers) reject(error);
    }
    this.sharers.clear();
  }

  abandon(reason: unknown): void {
    for (const sharer of [...this.sharers]) this.leave(sharer, reason);
  }

  private leave(sharer: Sharer<Result>, reason: unknown): void {
    if (!this.sharers.delete(sharer)) return;
    sharer.reject(reason);
    if (this.sharers.size > 0) return;
    this.controller.abort(reason);
    this.onAbandoned();
  }

  private get controller(): AbortController {
    this.abandonment ??= new AbortController();
    return this.abandonment;
  }
}
