import { setImmediate as setImmediateCallback } from 'node:timers';
import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work before others are served. */
const LONGEST = 5;

/** The last queued turn. Each turn begins in its own iteration of the event loop, in the order of the calls. */
let last: Promise<void> = Promise.resolve();

/** The time at which divided work first ran in this iteration of the event loop; null if none has. */
let iterationBegan: number | null = null;

/**
 * Divides long work, so that the event loop serves others in between: one turn of all such work in each iteration. Work that begins in
 * an iteration has what is left of its turn, or a hundred requests that arrive together would each take a whole one.
 */
export class TimeSlice {
  /** How many have begun: shows that work in turns makes progress, even while it waits for the turns of others. */
  static begun = 0;
  private began = performance.now();

  /** @param isUrgent does not wait for the turns of others, as all writes wait for the writer. */
  constructor(private readonly isUrgent = false) {}

  /** To be checked between small steps. */
  get isOver(): boolean {
    const began = this.isUrgent ? this.began : startOfIteration();
    return performance.now() - began >= LONGEST;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    await (this.isUrgent ? setImmediate() : (last = last.then(() => setImmediate())));
    TimeSlice.begun += 1;
    this.began = performance.now();
  }
}

function startOfIteration(): number {
  if (iterationBegan === null) {
    iterationBegan = performance.now();
    setImmediateCallback(() => {
      iterationBegan = null;
    });
  }
  return iterationBegan;
}

/** Items of long work, one by one; between them the event loop serves others whenever a turn is over. */
export async function* yieldBetween<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  const turn = new TimeSlice();
  for (const item of items) {
    if (turn.isOver) await turn.next();
    yield item;
  }
}
