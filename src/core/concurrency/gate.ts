import { unavailable } from '../errors/domain-error';

/** Seconds after which a refused caller may try again. */
const RETRY_AFTER = 5;

export interface GateSettings {
  /** What passes the gate, in the plural, as refusals name it. */
  readonly what: string;
  /** The greatest weight inside at a time: a number of requests, or of bytes. */
  readonly most: number;
  /** The same for one client. */
  readonly mostEach: number;
  /** How many of one client may wait. */
  readonly mostWaiting: number;
  /** How long, in milliseconds. */
  readonly longest: number;
}

/** The permission to be inside, until it leaves. */
export interface Pass {
  /** Gives back what is above this weight. */
  shrink(weight: number): void;
  /** Gives back everything; from the second time on it does nothing. */
  leave(): void;
}

export interface Entering {
  /** 1 by default. A weight above the limit of a client counts as that limit. */
  readonly weight?: number;
  /** Aborted when nobody waits any more. */
  readonly leaving?: AbortSignal | undefined;
}

interface Waiting {
  readonly who: string;
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
  private readonly queue = new Set<Waiting>();
  private inside = 0;

  constructor(private readonly settings: GateSettings) {}

  /** The weight inside. */
  get held(): number {
    return this.inside;
  }

  /** How many wait. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Null if there is no room now, or others have waited for it longer. */
  tryEnter(who: string, weight = 1): Pass | null {
    const counted = Math.min(weight, this.settings.mostEach);
    const isFree = this.clientHasRoom(who, counted) && this.inside + counted <= this.settings.most;
    return isFree && !this.hasNext() ? this.pass(who, counted) : null;
  }

  /**
   * Resolves when it is the client's turn.
   * @throws UNAVAILABLE when too many wait, or it has waited too long; the reason of `leaving`.
   */
  async enter(who: string, { weight = 1, leaving }: Entering = {}): Promise<Pass> {
    leaving?.throwIfAborted();
    return this.tryEnter(who, weight) ?? this.turn(who, Math.min(weight, this.settings.mostEach), leaving);
  }

  /** Does work inside. */
  async run<Result>(who: string, work: () => Promise<Result>, entering: Entering = {}): Promise<Result> {
    const pass = await this.enter(who, entering);
    try {
      return await work();
    } finally {
      pass.leave();
    }
  }

  private turn(who: string, weight: number, leaving: AbortSignal | undefined): Promise<Pass> {
    const { what, mostWaiting, longest } = this.settings;
    if (this.waitingOf(who).length >= mostWaiting) throw unavailable(`Too many ${what} at a time.`, RETRY_AFTER);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        leaving?.removeEventListener('abort', onAbort);
        this.queue.delete(waiting);
      };
      const refuse = (reason: Error): void => {
        end();
        reject(reason);
        this.admitWaiting();
      };
      const onAbort = (): void => refuse(leaving?.reason as Error);
      const onLate = (): void => refuse(unavailable(`Too many ${what} at a time: others take long.`, RETRY_AFTER));
      const timer = longest === Infinity ? undefined : setTimeout(onLate, longest).unref();
      const admit = (pass: Pass): void => {
        end();
        resolve(pass);
      };
      const waiting: Waiting = { who, weight, admit };
      leaving?.addEventListener('abort', onAbort);
      this.queue.add(waiting);
    });
  }

  private admitWaiting(): void {
    for (const { who, weight, admit } of this.queue) {
      if (!this.clientHasRoom(who, weight)) continue;
      // This one is next: none of less weight may overtake it.
      if (this.inside + weight > this.settings.most) return;
      const pass = this.pass(who, weight);
      for (const other of this.waitingOf(who)) {
        this.queue.delete(other);
        this.queue.add(other);
      }
      admit(pass);
    }
  }

  private waitingOf(who: string): Waiting[] {
    return [...this.queue].filter((waiting) => waiting.who === who);
  }

  /** Whether somebody waits whose client has room. */
  private hasNext(): boolean {
    for (const { who, weight } of this.queue) if (this.clientHasRoom(who, weight)) return true;
    return false;
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
