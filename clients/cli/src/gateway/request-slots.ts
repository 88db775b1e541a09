import { unavailable } from './calls/refusal.js';

/** Maximum numbers of requests at a time, and the words of the refusals beyond them. */
export interface RequestBounds {
  readonly all: number;
  readonly ofOneHolder: number;
  readonly refusal: string;
  readonly refusalOfHolder: string;
}

/** Frees the slot. A second call changes nothing. */
export type LeaveSlot = () => void;

/** Bounds how many requests run at a time: of all holders together, and of each, such as an agent with many keys. */
export class RequestSlots {
  private running = 0;
  private readonly runningByHolder = new Map<string, number>();

  constructor(private readonly bounds: RequestBounds) {}

  /** Requests that run now. */
  get count(): number {
    return this.running;
  }

  /** Takes a slot for a request of a holder. @throws Refusal 503 if there is none */
  enterAs(holder: string): LeaveSlot {
    return this.enterMore(holder, 1);
  }

  /**
   * Counts as many more requests that a request of a holder brings.
   * @throws Refusal 503 if there is no room for all of them
   */
  enterMore(holder: string, count: number): LeaveSlot {
    const { all, ofOneHolder, refusal, refusalOfHolder } = this.bounds;
    const ofHolder = this.runningByHolder.get(holder) ?? 0;
    if (this.running + count > all) throw unavailable(refusal);
    if (ofHolder + count > ofOneHolder) throw unavailable(refusalOfHolder);
    this.add(holder, count);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      this.add(holder, -count);
    };
  }

  private add(holder: string, count: number): void {
    this.running += count;
    const ofHolder = (this.runningByHolder.get(holder) ?? 0) + count;
    if (ofHolder === 0) this.runningByHolder.delete(holder);
    else this.runningByHolder.set(holder, ofHolder);
  }
}
