import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work after which others get their turn. */
const LONGEST = 10;

/** Divides long work into slices, between which the event loop does other work. */
export class Slices {
  private began = performance.now();

  /** To be called between small parts of the work: lets others through when it is their turn. */
  async next(): Promise<void> {
    if (performance.now() - this.began < LONGEST) return;
    await nextTurn();
    this.began = performance.now();
  }
}
