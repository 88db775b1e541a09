import { unavailable, type DomainError } from '../../errors/domain-error';
import type { Caller } from '../caller';
import type { KeyedWrite } from '../idempotent-request';
import type { BeforeReplay, Command } from '../ledger-transaction';
import type { Lookup } from '../lookup';

/** A command that waits to be written, and the promise its caller waits for. */
export interface QueuedCommand {
  readonly caller: Caller;
  readonly command: Command<unknown>;
  /** Null when an answer that is kept for its key may always be given again. */
  readonly beforeReplay: BeforeReplay<unknown> | null;
  /** Read for all commands of the batch at once. */
  readonly lookups: readonly Lookup[];
  /** Null when its request carries no idempotency key. */
  readonly keyed: KeyedWrite | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Monotonic milliseconds after which it is not begun any more. */
  readonly deadline: number;
}

/** The commands that wait for the writer: bounded in number and in the time they wait. */
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

  /** Refuses all. */
  refuse(refusal: DomainError): void {
    for (const { reject } of this.take(this.waiting.length)) reject(refusal);
  }

  /** Refuses those that have waited too long; they are the first ones. */
  expire(): void {
    const now = performance.now();
    while (this.waiting[0] !== undefined && this.waiting[0].deadline < now) {
      this.waiting.shift()?.reject(unavailable('The write waited too long for the database.'));
    }
  }
}

/** The commands of one batch: those that waited when it began, and those that came until it could write. */
export class GatheredCommands {
  readonly all: QueuedCommand[];

  constructor(
    private readonly queue: LedgerQueue,
    private readonly most: number,
  ) {
    this.all = queue.take(most);
  }

  /** Takes in, and answers, what has come meanwhile: where another process held the lock, that is as much again. */
  gather(): readonly QueuedCommand[] {
    const late = this.queue.take(this.most - this.all.length);
    this.all.push(...late);
    return late;
  }
}
