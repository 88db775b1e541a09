const MAX_REQUESTS = 1_000;
const MAX_REQUESTS_OF_ONE_CALLER = 100;

export interface RequestBounds {
  readonly all: number;
  readonly perCaller: number;
}

/** Frees the slot. A second call changes nothing. */
export type LeaveSlot = () => void;

/** Bounds how many requests run at a time: of all callers, and of each. */
export class RequestSlots {
  private running = 0;
  private readonly runningByCaller = new Map<string, number>();

  constructor(private readonly bounds: RequestBounds = { all: MAX_REQUESTS, perCaller: MAX_REQUESTS_OF_ONE_CALLER }) {}

  /** Requests that run now. */
  get count(): number {
    return this.running;
  }

  /** Takes a slot, before the caller is known; null if all are taken. */
  enter(): LeaveSlot | null {
    if (this.running >= this.bounds.all) return null;
    this.running += 1;
    return once(() => (this.running -= 1));
  }

  /** Counts a request for its caller, too; null if the caller has as many as possible. */
  enterAs(caller: string): LeaveSlot | null {
    const count = this.runningByCaller.get(caller) ?? 0;
    if (count >= this.bounds.perCaller) return null;
    this.runningByCaller.set(caller, count + 1);
    return once(() => {
      const left = (this.runningByCaller.get(caller) ?? 1) - 1;
      if (left === 0) this.runningByCaller.delete(caller);
      else this.runningByCaller.set(caller, left);
    });
  }
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}
