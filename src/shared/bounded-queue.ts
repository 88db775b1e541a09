import { unavailable } from '../errors/domain-error';

/** Seconds after which a task that found no place may be tried again. */
const RETRY_AFTER = 5;

interface QueueLimits {
  /** Most tasks that wait. */
  readonly mostWaiting: number;
  /** Milliseconds that a task may wait; by default as long as those before it take. */
  readonly longestWait?: number;
}

/** Runs one task at a time, in order of arrival, and lets few wait. */
export class BoundedQueue {
  /** Begins each of the waiting tasks. */
  private readonly waiting: (() => void)[] = [];
  private isBusy = false;

  /** @param what is running while others wait; named in the error. */
  constructor(
    private readonly what: string,
    private readonly limits: QueueLimits,
  ) {}

  /**
   * @param leaving aborted when nobody waits for the result any more: a task that has not begun leaves the queue.
   * @throws UNAVAILABLE when too many tasks wait, or this one has waited too long; the reason of `leaving`.
   */
  async run<Result>(work: () => Promise<Result>, leaving?: AbortSignal): Promise<Result> {
    leaving?.throwIfAborted();
    if (this.isBusy) await this.turn(leaving);
    this.isBusy = true;
    try {
      return await work();
    } finally {
      const begin = this.waiting.shift();
      if (begin === undefined) this.isBusy = false;
      else begin();
    }
  }

  private async turn(leaving: AbortSignal | undefined): Promise<void> {
    const { what, waiting, limits } = this;
    if (waiting.length >= limits.mostWaiting)
      throw unavailable(
        `${what} is running, and as many are waiting as may wait (${limits.mostWaiting}).`,
        RETRY_AFTER,
      );
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(limit);
        leaving?.removeEventListener('abort', leave);
      };
      const giveUp = (reason: Error): void => {
        stopWaiting();
        waiting.splice(waiting.indexOf(begin), 1);
        reject(reason);
      };
      const begin = (): void => {
        stopWaiting();
        resolve();
      };
      const leave = (): void => giveUp(leaving?.reason as Error);
      const late = (): void => giveUp(unavailable(`${what} is taking long, and others were waiting.`, RETRY_AFTER));
      const limit = limits.longestWait === undefined ? undefined : setTimeout(late, limits.longestWait);
      leaving?.addEventListener('abort', leave);
      waiting.push(begin);
    });
  }
}
