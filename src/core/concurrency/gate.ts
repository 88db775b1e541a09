import { unavailable } from '../errors/domain-error';

/** Seconds after which a refused caller may try again. */
const RETRY_AFTER = 5;

export interface GateSettings {
  /** What passes the gate, in the plural, as refusals name it. */
  readonly label: string;
  /** The greatest weight inside at a time: a number of requests, or of bytes. */
  readonly most: number;
  /** The greatest weight of one client inside at a time. */
  readonly mostEach: number;
  /** How many of one client may wait. */
  readonly mostWaiting: number;
  /** How long, in milliseconds. */
  readonly longest: number;
}

/** For work that belongs to no client, and waits however long it takes. */
export const ONE_AT_A_TIME = { most: 1, mostEach: 1, mostWaiting: Infinity, longest: Infinity };

/** The permission to be inside, until it leaves. */
export interface Pass {
  /** Gives back what is above this weight. */
  shrink(weight: number): void;
  /** Gives back everything; from the second time on it does nothing. */
  leave(): void;
}

interface EntryOptions {
  /** 1 by default. A weight above the limit of a client counts as that limit. */
  readonly weight?: number;
  /** Aborted when nobody waits any more. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly weight: number;
  readonly admit: (pass: Pass) => void;
}

/**
 * Limits what is worked on at a time, altogether and for each client. Others wait, and enter in order of arrival, but
 * clients take turns: when one enters, the others of its client go to the end. A client that has used up its share holds
 * up nobody else.
 */
export class Gate {
  private readonly weights = new Map<string, number>();
  /** Of each client in order of arrival; first the client whose turn it is. */
  private readonly queues = new Map<string, Set<Waiting>>();
  private inside = 0;

  constructor(private readonly settings: GateSettings) {}

  /** The weight inside. */
  get held(): number {
    return this.inside;
  }

  get waiting(): number {
    return Array.from(this.queues.values(), ({ size }) => size).reduce((sum, size) => sum + size, 0);
  }

  /** Null if there is no room now, or others have waited for it longer. */
  tryEnter(who: string, weight = 1): Pass | null {
    const counted = Math.min(weight, this.settings.mostEach);
    const isFree = this.clientHasRoom(who, counted) && this.inside + counted <= this.settings.most;
    return isFree && this.next() === undefined ? this.pass(who, counted) : null;
  }

  /**
   * Resolves when it is the client's turn.
   * @throws UNAVAILABLE when too many wait, or it has waited too long; the reason of `signal`.
   */
  async enter(who: string, { weight = 1, signal }: EntryOptions = {}): Promise<Pass> {
    signal?.throwIfAborted();
    return this.tryEnter(who, weight) ?? this.turn(who, Math.min(weight, this.settings.mostEach), signal);
  }

  /** Does work inside. */
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
      // A lighter one must not overtake it.
      if (this.inside + weight > this.settings.most) return;
      this.queues.delete(who);
      this.queues.set(who, queue);
      admit(this.pass(who, weight));
    }
  }

  /** Who has waited longest in the first client that has room. */
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
