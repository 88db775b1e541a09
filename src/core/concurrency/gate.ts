import { unavailable } from '../errors/domain-error';

/** Seconds after which a refused caller may try again. */
const RETRY_AFTER = 5;

export interface GateSettings {
  /** Plural name of the things that pass the gate, for the messages of refusals. */
  readonly label: string;
  /** The greatest weight inside at a time: a number of requests, or of bytes. */
  readonly most: number;
  /** The greatest weight of one client inside at a time. */
  readonly mostEach: number;
  /** Most requests of one client that may wait. */
  readonly mostWaiting: number;
  /** Longest wait in milliseconds. */
  readonly longest: number;
}

/** Settings for work that belongs to no client and may wait without limit. */
export const ONE_AT_A_TIME = { most: 1, mostEach: 1, mostWaiting: Infinity, longest: Infinity };

/** Permission to be inside the gate; it ends with `leave`. */
export interface Pass {
  /** Gives back the part of the weight above `weight`. */
  shrink(weight: number): void;
  /** Gives back the whole weight. Later calls do nothing. */
  leave(): void;
}

interface EntryOptions {
  /** Defaults to 1. A weight above the limit of a client counts as that limit. */
  readonly weight?: number;
  /** Ends the wait when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly weight: number;
  readonly admit: (pass: Pass) => void;
}

/**
 * Limits the work in progress, in total and per client. Requests beyond the limits wait, and clients take turns: after
 * each entry, the client goes to the end of the line. A client that has used up its share holds up nobody else.
 */
export class Gate {
  private readonly weights = new Map<string, number>();
  /** Waiting requests of each client, in order of arrival; the client whose turn is next comes first. */
  private readonly queues = new Map<string, Set<Waiting>>();
  private inside = 0;

  constructor(private readonly settings: GateSettings) {}

  /** The total weight inside. */
  get held(): number {
    return this.inside;
  }

  get waiting(): number {
    return Array.from(this.queues.values(), ({ size }) => size).reduce((sum, size) => sum + size, 0);
  }

  /** Returns null if there is no room now, or if another request that could enter already waits. */
  tryEnter(who: string, weight = 1): Pass | null {
    const counted = Math.min(weight, this.settings.mostEach);
    const isFree = this.clientHasRoom(who, counted) && this.inside + counted <= this.settings.most;
    return isFree && this.next() === undefined ? this.pass(who, counted) : null;
  }

  /**
   * Resolves when the request may enter.
   * @throws UNAVAILABLE if too many requests wait or this one has waited too long; the reason of `signal`
   */
  async enter(who: string, { weight = 1, signal }: EntryOptions = {}): Promise<Pass> {
    signal?.throwIfAborted();
    return this.tryEnter(who, weight) ?? this.turn(who, Math.min(weight, this.settings.mostEach), signal);
  }

  /** Runs work inside the gate. */
  async run<Result>(who: string, work: () => Promise<Result>, entering: EntryOptions = {}): Promise<Result> {
    const pass = await this.enter(who, entering);
    try {
      return await work();
    } finally {
      pass.leave();
    }
  }

  private turn(who: string, weight: number, signal: AbortSignal | undefined): Promise<Pass> {
    const { label, mostWaiting, longest } = this.settings;
    const queue = this.queues.get(who) ?? new Set<Waiting>();
    if (queue.size >= mostWaiting) throw unavailable(`Too many ${label} at a time.`, RETRY_AFTER);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        queue.delete(waiting);
        if (queue.size === 0) this.queues.delete(who);
      };
      const refuse = (reason: Error): void => {
        end();
        reject(reason);
        this.admitWaiting();
      };
      const onAbort = (): void => refuse(signal?.reason as Error);
      const onLate = (): void => refuse(unavailable(`Too many ${label} at a time: others take long.`, RETRY_AFTER));
      const timer = longest === Infinity ? undefined : setTimeout(onLate, longest).unref();
      const admit = (pass: Pass): void => {
        end();
        resolve(pass);
      };
      const waiting: Waiting = { weight, admit };
      signal?.addEventListener('abort', onAbort);
      this.queues.set(who, queue.add(waiting));
    });
  }

  private admitWaiting(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const [who, queue, { weight, admit }] = next;
      // A lighter request must not overtake this one.
      if (this.inside + weight > this.settings.most) return;
      this.queues.delete(who);
      this.queues.set(who, queue);
      admit(this.pass(who, weight));
    }
  }

  /** Returns the oldest request of the first client that has room. */
  private next(): readonly [who: string, queue: Set<Waiting>, waiting: Waiting] | undefined {
    for (const [who, queue] of this.queues) {
      const [first] = queue;
      if (first !== undefined && this.clientHasRoom(who, first.weight)) return [who, queue, first];
    }
    return undefined;
  }

  private clientHasRoom(who: string, weight: number): boolean {
    return (this.weights.get(who) ?? 0) + weight <= this.settings.mostEach;
  }

  private pass(who: string, entered: number): Pass {
    let held = entered;
    this.add(who, entered);
    const shrink = (weight: number): void => {
      if (weight >= held) return;
      this.add(who, weight - held);
      held = weight;
      this.admitWaiting();
    };
    return { shrink, leave: () => shrink(0) };
  }

  private add(who: string, weight: number): void {
    const ofClient = (this.weights.get(who) ?? 0) + weight;
    this.inside += weight;
    if (ofClient === 0) this.weights.delete(who);
    else this.weights.set(who, ofClient);
  }
}
