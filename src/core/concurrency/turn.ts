import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work before others are served. */
const LONGEST = 5;

/** The turn that was asked for last. Each begins in its own iteration of the event loop, in the order of asking. */
let last: Promise<void> = Promise.resolve();

/** Divides long work, so that the event loop serves others in between: one turn of all such work in each iteration. */
export class Turn {
  private began = performance.now();

  /** To be checked between small steps. */
  get isOver(): boolean {
    return performance.now() - this.began >= LONGEST;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    last = last.then(() => setImmediate());
    await last;
    this.began = performance.now();
  }
}
