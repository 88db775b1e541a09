import { setImmediate as setImmediateCallback } from 'node:timers';
import { setImmediate, setTimeout } from 'node:timers/promises';

/** Milliseconds of work after which the event loop serves other work. */
const MAX_TURN_MS = 5;
/** Most milliseconds that the event loop serves others after a turn that a single step made too long. */
const MAX_REST_MS = 250;

/** The last queued turn. Each turn begins in its own iteration of the event loop, in the order of the calls. */
let last: Promise<void> = Promise.resolve();

/** Start of the divided work in this iteration of the event loop; null if none has run. */
let iteration: { readonly began: number } | null = null;

/**
 * Divides long work so that the event loop serves others in between: all such work shares one turn per iteration. Work
 * that begins later in an iteration gets only the rest of the turn; otherwise a hundred requests that arrive together
 * would each take a whole one.
 */
export class TimeSlice {
  /** Number of turns begun so far. It shows that divided work makes progress even while it waits for other turns. */
  static begun = 0;
  private began = performance.now();

  /** @param isUrgent true if the work does not wait for other turns: all writes wait for the writer */
  constructor(private readonly isUrgent = false) {}

  /** True if the turn is used up; work checks it between small steps. */
  get isOver(): boolean {
    const began = this.isUrgent ? this.began : startOfIteration();
    return performance.now() - began >= MAX_TURN_MS;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    const length = performance.now() - (iteration?.began ?? this.began);
    await (this.isUrgent ? setImmediate() : (last = last.then(() => rest(length))));
    TimeSlice.begun += 1;
    this.began = performance.now();
    // The start of the previous iteration may still be stored.
    if (!this.isUrgent) beginIteration();
  }
}

/**
 * Lets the event loop serve others. After a turn of more than twice the length, it does so for as long as that turn
 * took: others need several iterations for one request, and would wait for a whole turn in each.
 */
async function rest(length: number): Promise<void> {
  if (length > 2 * MAX_TURN_MS) await setTimeout(Math.min(length, MAX_REST_MS));
  else await setImmediate();
}

function startOfIteration(): number {
  return (iteration ?? beginIteration()).began;
}

function beginIteration(): { readonly began: number } {
  const own = { began: performance.now() };
  iteration = own;
  setImmediateCallback(() => {
    if (iteration === own) iteration = null;
  });
  return own;
}

/**
 * Yields the items of long work one by one; when a turn is over, the event loop first serves others. Yielding an item
 * takes half a microsecond, so code for thousands of small items checks a `TimeSlice` itself.
 */
export async function* yieldBetween<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  const turn = new TimeSlice();
  for (const item of items) {
    if (turn.isOver) await turn.next();
    yield item;
  }
}

/** Finishes work that yields between its steps; when a turn is over, the event loop first serves others. */
export async function finishInTurns<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  const turn = new TimeSlice();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turn.isOver) await turn.next();
  }
}
