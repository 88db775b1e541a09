const MAX_WAIT_MS = 10_000;
/** 256 MiB. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** The part of the room that the bodies of one agent may take: one body of the greatest size, and half of one beside it. */
const MAX_SHARE_OF_ONE_AGENT = 3 / 8;

/** Bytes that one body takes of the room. */
export interface RoomShare {
  /** Gives back what is above this number of bytes. */
  shrinkTo(bytes: number): void;
  /** Gives all bytes back. A second call changes nothing. */
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly agentId: string;
  readonly admit: (share: RoomShare | null) => void;
}

/**
 * Memory that the bodies of all requests share. Each reserves its length first, or the most that it may have, and keeps
 * what it turns out to have; requests wait in their order.
 */
export class BodyRoom {
  private free: number;
  private readonly waiters = new Set<Waiter>();
  private readonly bytesByAgent = new Map<string, number>();

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
   * what one agent may have.
   */
  reserve(bytes: number, agentId: string, signal?: AbortSignal): Promise<RoomShare | null> {
    if (bytes > this.maxOfOneAgent || signal?.aborted === true) return Promise.resolve(null);
    const isFirst = this.waiters.size === 0 && bytes <= this.free && !this.isAboveShare(agentId, bytes);
    if (bytes === 0 || isFirst) return Promise.resolve(this.take(bytes, agentId));
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
      const waiter: Waiter = { bytes, agentId, admit };
      const timer = setTimeout(leave, this.maxWaitMs);
      signal?.addEventListener('abort', leave, { once: true });
      this.waiters.add(waiter);
      // Those that wait may be of agents that have their share.
      this.admitNext();
    });
  }

  private get maxOfOneAgent(): number {
    return this.size * MAX_SHARE_OF_ONE_AGENT;
  }

  private isAboveShare(agentId: string, bytes: number): boolean {
    return (this.bytesByAgent.get(agentId) ?? 0) + bytes > this.maxOfOneAgent;
  }

  private take(bytes: number, agentId: string): RoomShare {
    this.add(bytes, agentId);
    let taken = bytes;
    const shrinkTo = (remaining: number): void => {
      const returned = Math.max(0, taken - remaining);
      taken -= returned;
      this.add(-returned, agentId);
      if (returned > 0) this.admitNext();
    };
    return { shrinkTo, release: () => shrinkTo(0) };
  }

  private add(bytes: number, agentId: string): void {
    this.free -= bytes;
    const ofAgent = (this.bytesByAgent.get(agentId) ?? 0) + bytes;
    if (ofAgent === 0) this.bytesByAgent.delete(agentId);
    else this.bytesByAgent.set(agentId, ofAgent);
  }

  private admitNext(): void {
    for (const { bytes, agentId, admit } of this.waiters) {
      if (this.isAboveShare(agentId, bytes)) continue;
      if (bytes > this.free) return;
      admit(this.take(bytes, agentId));
    }
  }
}
