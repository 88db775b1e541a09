const MAX_WAIT_MS = 10_000;
/** 256 MiB. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** Gives the bytes back. A second call changes nothing. */
export type ReleaseRoom = () => void;

interface Waiter {
  readonly bytes: number;
  readonly admit: (release: ReleaseRoom | null) => void;
}

/** Memory that the bodies of all requests share. Each reserves its length first; requests wait in their order. */
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
  reserve(bytes: number, signal?: AbortSignal): Promise<ReleaseRoom | null> {
    if (bytes > this.size || signal?.aborted === true) return Promise.resolve(null);
    if (bytes === 0 || (this.waiters.size === 0 && bytes <= this.free)) return Promise.resolve(this.take(bytes));
    return new Promise((resolve) => {
      const leave = (): void => {
        admit(null);
        // The next request may need less.
        this.admitNext();
      };
      const admit = (release: ReleaseRoom | null): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.waiters.delete(waiter);
        resolve(release);
      };
      const waiter: Waiter = { bytes, admit };
      const timer = setTimeout(leave, this.maxWaitMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.waiters.add(waiter);
    });
  }

  private take(bytes: number): ReleaseRoom {
    this.free -= bytes;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.free += bytes;
      this.admitNext();
    };
  }

  private admitNext(): void {
    for (const { bytes, admit } of this.waiters) {
      if (bytes > this.free) return;
      admit(this.take(bytes));
    }
  }
}
