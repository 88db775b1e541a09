import { unavailable } from '../errors/domain-error';

/** The most runs that may wait, each from another beginning; the ordinary run does not count. */
const MOST_WAITING = 4;
/** Seconds after which a call that found no place may retry. */
const RETRY_AFTER = 5;

/** What a call wants from a run. */
interface CallOptions<Wish> {
  /** Additional results it needs; a run produces those of all callers that share it. */
  readonly wishes?: readonly Wish[];
  /** Aborted when the caller leaves: a run that nobody waits for any more ends. */
  readonly leaving?: AbortSignal;
}

/** What a run is to do. */
type Run<Wish> = Pick<SingleFlightRun<Wish, unknown>, 'from' | 'wishes' | 'abandoned'>;

/**
 * Runs a long task, one run at a time. Calls that arrive during a run share the next one: a run that began before the
 * call might miss what the caller has just written.
 */
export class SingleFlight<Wish, Result> {
  /** The runs that have not started, by where they begin, in the order in which they were first asked for. */
  private readonly waiting = new Map<number, SingleFlightRun<Wish, Result>>();
  private running: Promise<void> | null = null;
  private current: SingleFlightRun<Wish, Result> | null = null;
  private latest: number | null = null;

  /** @param ordinary the beginning that most calls ask for: its run waits for at most one other. */
  constructor(
    private readonly work: (run: Run<Wish>) => Promise<Result>,
    private readonly ordinary = 0,
  ) {}

  /**
   * @param from where the run begins; calls with the same beginning share a run.
   * @throws UNAVAILABLE when too many runs wait; the reason of `leaving`.
   */
  async call(from: number, { wishes = [], leaving }: CallOptions<Wish> = {}): Promise<Result> {
    leaving?.throwIfAborted();
    const run = this.waiting.get(from) ?? this.added(from);
    for (const wish of wishes) run.wishes.add(wish);
    const result = run.join(leaving);
    this.beginNext();
    return result;
  }

  /** Resolves when nothing is running. */
  async ended(): Promise<void> {
    while (this.running !== null) await this.running;
  }

  /** Abandons all runs: their callers get the reason. Resolves when nothing is running. */
  async stop(reason: Error): Promise<void> {
    for (const run of [...this.waiting.values()]) run.abandon(reason);
    this.current?.abandon(reason);
    await this.ended();
  }

  private added(from: number): SingleFlightRun<Wish, Result> {
    if (from !== this.ordinary && this.others().length >= MOST_WAITING) {
      throw unavailable('Too many other runs are waiting.', RETRY_AFTER);
    }
    const run = new SingleFlightRun<Wish, Result>(from, () => {
      if (this.waiting.get(from) === run) this.waiting.delete(from);
    });
    this.waiting.set(from, run);
    return run;
  }

  private beginNext(): void {
    const run = this.running === null ? this.next() : undefined;
    if (run === undefined) return;
    this.waiting.delete(run.from);
    this.latest = run.from;
    this.current = run;
    this.running = run
      .perform(() => this.work(run))
      .then(() => {
        this.running = null;
        this.beginNext();
      });
  }

  /** The ordinary run goes first, but after each of them one other run does, so that none waits for ever. */
  private next(): SingleFlightRun<Wish, Result> | undefined {
    const ordinary = this.waiting.get(this.ordinary);
    const [other] = this.others();
    return this.latest === this.ordinary ? (other ?? ordinary) : (ordinary ?? other);
  }

  private others(): SingleFlightRun<Wish, Result>[] {
    return [...this.waiting.values()].filter(({ from }) => from !== this.ordinary);
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
  /** Made when it is needed, as it costs more than a short run. */
  private abandonment: AbortController | null = null;

  constructor(
    readonly from: number,
    private readonly onAbandoned: () => void,
  ) {}

  /** Aborted when nobody waits for it any more. */
  get abandoned(): AbortSignal {
    return this.controller.signal;
  }

  /** Waits for the result; throws the reason of the signal as soon as that is aborted. */
  join(leaving: AbortSignal | undefined): Promise<Result> {
    let leave = (): void => undefined;
    const result = new Promise<Result>((resolve, reject) => {
      const sharer = { resolve, reject };
      this.sharers.add(sharer);
      leave = () => this.leave(sharer, leaving?.reason);
    });
    if (leaving === undefined) return result;
    leaving.addEventListener('abort', leave, { once: true });
    // The signal may outlive many runs.
    return result.finally(() => leaving.removeEventListener('abort', leave));
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
