/** Milliseconds of work before yielding to the event loop. */
const LONGEST = 5;

/** Pieces of work waiting for their next turn, in order of arrival. */
type Lane = (() => void)[];

const ordinary: Lane = [];
/** Work that all writes wait for. It gets three turns of four: readers in large numbers would hold it up for seconds. */
const writes: Lane = [];
const MOST_IN_A_ROW = 3;
let writesInARow = 0;
let turnsOfWrites = 0;

/**
 * Divides long work into slices, so that the event loop can serve others in between. Each iteration of the loop runs one slice,
 * whatever is under way: the slices of many requests in one iteration would add up to the stall they are meant to prevent.
 */
export class Slices {
  private began = performance.now();

  constructor(private readonly lane: Lane = ordinary) {}

  /** For work in a batch or after its commit, which all writes wait for. */
  static ofWrite(): Slices {
    return new Slices(writes);
  }

  /** For work known to be long: starts in its own iteration of the loop. */
  static async inTurn(): Promise<Slices> {
    await ownTurn(ordinary);
    return new Slices();
  }

  /** Whether the slice is used up. Checking it before `next` saves a promise for each of many tiny steps. */
  get areDue(): boolean {
    return performance.now() - this.began >= LONGEST;
  }

  /** To be called between small steps of the work: yields when the slice is used up. */
  async next(): Promise<void> {
    if (!this.areDue) return;
    await ownTurn(this.lane);
    this.began = performance.now();
  }
}

/** How many turns such work has had: it gets on, however long the turns of others take. */
export function writeTurns(): number {
  return turnsOfWrites;
}

/** Runs work that is divided into small steps. */
export async function inSlices(steps: Generator<void>, slices: Slices): Promise<void> {
  while (steps.next().done !== true) if (slices.areDue) await slices.next();
}

function ownTurn(lane: Lane): Promise<void> {
  return new Promise((resolve) => {
    if (ordinary.length + writes.length === 0) setImmediate(giveTurn);
    lane.push(resolve);
  });
}

function giveTurn(): void {
  const isWrite = writes.length > 0 && (ordinary.length === 0 || writesInARow < MOST_IN_A_ROW);
  writesInARow = isWrite ? writesInARow + 1 : 0;
  if (isWrite) turnsOfWrites += 1;
  (isWrite ? writes : ordinary).shift()?.();
  // An immediate set here runs in the next iteration.
  if (ordinary.length + writes.length > 0) setImmediate(giveTurn);
}
