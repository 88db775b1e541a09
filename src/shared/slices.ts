/** Milliseconds of work before yielding to the event loop. */
const LONGEST = 5;

/** Work waiting for its next turn, in order of arrival. */
const waiting: (() => void)[] = [];

/**
 * Divides long work into slices, so that the event loop can serve others in between. Each iteration of the loop runs one slice,
 * whatever is under way: the slices of many requests in one iteration would add up to the stall they are meant to prevent.
 */
export class Slices {
  private began = performance.now();

  /** For work known to be long: starts in its own iteration of the loop. */
  static async inTurn(): Promise<Slices> {
    await ownTurn();
    return new Slices();
  }

  /** Whether the slice is used up. Checking it before `next` saves a promise for each of many tiny steps. */
  get areDue(): boolean {
    return performance.now() - this.began >= LONGEST;
  }

  /** To be called between small steps of the work: yields when the slice is used up. */
  async next(): Promise<void> {
    if (!this.areDue) return;
    await ownTurn();
    this.began = performance.now();
  }
}

function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  waiting.shift()?.();
  // An immediate set here runs in the next iteration.
  if (waiting.length > 0) setImmediate(giveTurn);
}
