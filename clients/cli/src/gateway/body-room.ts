const MAX_WAIT_MS = 10_000;
/** 256 MiB. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** Bytes that one body takes of the room. */
export interface RoomShare {
  /** Gives back what is above this number of bytes. */
  shrinkTo(bytes: number): void;
  /** Gives all bytes back. A second call changes nothing. */
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: (share: RoomShare | null) => void;
}

/**
 * Memory that the bodies of all requests share. Each reserves its length first, or the most that it may have, and keeps
 * what it turns out to have; requests wait in their order.
 */
export class BodyRoom {
  private free: number;
  private readonly waiters = new Set<Waiter>();

  /** @param size in bytes. */
  constructor(
    private readonly size = MAX_BODY_BYTES,
    private readonly maxWaitMs = MAX_WAIT_MS,
  ) {
    this.free = size;
  }

  /** Bytes that are not reserved. */
  get freeBytes(): number {
    return this.free;
  }

  /**
   * Resolves with null if there was no room within the time, if the caller has gone, or if the body is larger than all of
   * the room.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<RoomShare | null> {
    if (bytes > this.size || signal?.aborted === true) return Promise.resolve(null);
    if (bytes === 0 || (this.waiters.size === 0 && bytes <= this.free)) return Promise.resolve(this.take(bytes));
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
      const waiter: Waiter = { bytes, admit };
      const timer = setTimeout(leave, this.maxWaitMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.waiters.add(waiter);
    });
  }

  private take(bytes: number): RoomShare {
    this.free -= bytes;
    let taken = bytes;
    const shrinkTo = (remaining: number): void => {
      const returned = Math.max(0, taken - remaining);
      taken -= returned;
      this.free += returned;
      if (returned > 0) this.admitNext();
    };
    return { shrinkTo, release: () => shrinkTo(0) };
  }

  private admitNext(): void {
    for (const { bytes, admit } of this.waiters) {
      if (bytes > this.free) return;
      admit(this.take(bytes));
    }
  }
}
