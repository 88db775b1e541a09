import { unavailable, type DomainError } from '../../core/errors/domain-error';
import type { Caller } from '../caller';
import type { KeyedWrite } from '../idempotent-request';
import type { BeforeReplay, Command } from '../ledger-transaction';
import type { Lookup } from '../lookup';

/** A command in the queue, and the promise its caller is waiting for. */
export interface QueuedCommand {
  readonly caller: Caller;
  readonly command: Command<unknown>;
  /** Null if the answer stored for its key may always be replayed. */
  readonly beforeReplay: BeforeReplay<unknown> | null;
  /** Read at once for all commands of the batch. */
  readonly lookups: readonly Lookup[];
  /** Null if its request carries no idempotency key. */
  readonly keyed: KeyedWrite | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Monotonic milliseconds after which it is no longer started. */
  readonly deadline: number;
}

/** The commands waiting for the writer, limited in number and in waiting time. */
export class LedgerQueue {
  private waiting: QueuedCommand[] = [];

  constructor(
    private readonly capacity: number,
    private readonly maximumWait: number,
  ) {}

  get length(): number {
    return this.waiting.length;
  }

  push(entry: Omit<QueuedCommand, 'deadline'>): void {
    if (this.waiting.length >= this.capacity) throw unavailable('Too many writes are waiting.');
    this.waiting.push({ deadline: performance.now() + this.maximumWait, ...entry });
  }

  take(most: number): QueuedCommand[] {
    return this.waiting.splice(0, most);
  }

  putBack(commands: readonly QueuedCommand[]): void {
    if (commands.length > 0) this.waiting = [...commands, ...this.waiting];
  }

  /** Refuses all waiting commands. */
  refuse(refusal: DomainError): void {
    for (const { reject } of this.take(this.waiting.length)) reject(refusal);
  }

  /** Refuses those that have waited too long; they are at the front. */
  expire(): void {
    const now = performance.now();
    while (this.waiting[0] !== undefined && this.waiting[0].deadline < now) {
      this.waiting.shift()?.reject(unavailable('The write waited too long for the database.'));
    }
  }
}

/** The commands of one batch: those in the queue when it began, and those that arrived before it could write. */
export class GatheredCommands {
  readonly all: QueuedCommand[];

  constructor(
    private readonly queue: LedgerQueue,
    private readonly most: number,
  ) {
    this.all = queue.take(most);
  }

  /** Adds, and returns, what has arrived meanwhile: if another process held the lock, that can be as many again. */
  gather(): readonly QueuedCommand[] {
    const late = this.queue.take(this.most - this.all.length);
    this.all.push(...late);
    return late;
  }
}
