import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work after which others get their turn. */
const LONGEST = 10;

/** Divides long work into slices, between which the event loop does other work. */
export class Slices {
  private began = performance.now();

  /** Whether it is the turn of others. Asked before `next`, it spares each of many very small parts a promise. */
  get areDue(): boolean {
    return performance.now() - this.began >= LONGEST;
  }

  /** To be called between small parts of the work: lets others through when it is their turn. */
  async next(): Promise<void> {
    if (!this.areDue) return;
    await nextTurn();
    this.began = performance.now();
  }
}
