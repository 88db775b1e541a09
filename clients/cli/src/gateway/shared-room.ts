const MAX_WAIT_MS = 10_000;
/**
 * Part of a room that one holder may take. For bodies, it is enough for one of the greatest size and half of another.
 */
const MAX_SHARE_OF_ONE_HOLDER = 3 / 8;

/** The share of a room that one request takes. */
export interface RoomShare {
  /** Returns to the room what exceeds this size. */
  shrinkTo(size: number): void;
  /** Returns the whole share to the room. A second call changes nothing. */
  release(): void;
}

interface Waiter {
  readonly size: number;
  readonly holder: string;
  readonly admit: (share: RoomShare | null) => void;
}

/**
 * Room that requests share, such as the memory of their bodies. A request first reserves the most that it may need, and
 * later shrinks its share to what it needs; requests wait in order. One holder, such as an agent, may take a part of
 * the room only.
 */
export class SharedRoom {
  private free: number;
  private readonly waiters = new Set<Waiter>();
  private readonly takenByHolder = new Map<string, number>();

  /** @param size in the unit of what is reserved, such as bytes. */
  constructor(
    private readonly size: number,
    private readonly maxWaitMs = MAX_WAIT_MS,
  ) {
    this.free = size;
  }

  /** Size of what is not reserved. */
  get freeSize(): number {
    return this.free;
  }

  /**
   * Reserves a share for a holder. Resolves with null if there was no room in time, if `signal` is aborted, or if the
   * size exceeds the part that one holder may take.
   */
  reserve(size: number, holder: string, signal?: AbortSignal): Promise<RoomShare | null> {
    if (size > this.maxOfOneHolder || signal?.aborted === true) return Promise.resolve(null);
    const isFirst = this.waiters.size === 0 && size <= this.free && !this.isAboveShare(holder, size);
    if (size === 0 || isFirst) return Promise.resolve(this.take(size, holder));
    return new Promise((resolve) => {
      const leave = (): void => {
        admit(null);
        // The next request may need less.
        this.admitNext();
      };
      const admit = (share: RoomShare | null): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.waiters.delete(waiter);
        resolve(share);
      };
      const waiter: Waiter = { size, holder, admit };
      const timer = setTimeout(leave, this.maxWaitMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.waiters.add(waiter);
      // The requests that wait may be of holders that have their share.
      this.admitNext();
    });
  }

  private get maxOfOneHolder(): number {
    return this.size * MAX_SHARE_OF_ONE_HOLDER;
  }

  private isAboveShare(holder: string, size: number): boolean {
    return (this.takenByHolder.get(holder) ?? 0) + size > this.maxOfOneHolder;
  }

  private take(size: number, holder: string): RoomShare {
    this.add(size, holder);
    let taken = size;
    const shrinkTo = (remaining: number): void => {
      const returned = Math.max(0, taken - remaining);
      taken -= returned;
      this.add(-returned, holder);
      if (returned > 0) this.admitNext();
    };
    return { shrinkTo, release: () => shrinkTo(0) };
  }

  private add(size: number, holder: string): void {
    this.free -= size;
    const taken = (this.takenByHolder.get(holder) ?? 0) + size;
    if (taken === 0) this.takenByHolder.delete(holder);
    else this.takenByHolder.set(holder, taken);
  }

  private admitNext(): void {
    for (const { size, holder, admit } of this.waiters) {
      if (this.isAboveShare(holder, size)) continue;
      if (size > this.free) return;
      admit(this.take(size, holder));
    }
  }
}
