import type { Attempt, WriteRequest } from './history';
import { isKept } from './key-faults';

/** Answers that are asked for again. */
const REMEMBERED = 40;

/** The writes that carry an idempotency key: which of them wait to be sent again, and which may be. */
export class KeyedWrites {
  private readonly waiting = new Map<string, WriteRequest>();
  private readonly answered: WriteRequest[] = [];

  /** @param keysLast false where the ledger's clock moves so far that keys expire. */
  constructor(private readonly keysLast: boolean) {}

  /** Without an answer, or with 5xx, it waits to be sent again. */
  note(request: WriteRequest, attempt: Attempt): void {
    const { key, answer } = attempt;
    if (key === undefined) return;
    if (answer === null || answer.status >= 500) this.waiting.set(key, request);
    else this.waiting.delete(key);
    if (!isKept(attempt) || this.answered.includes(request)) return;
    this.answered.push(request);
    if (this.answered.length > REMEMBERED) this.answered.shift();
  }

  get unanswered(): readonly WriteRequest[] {
    return [...this.waiting.values()];
  }

  /** Of what is not answered the one that waits longest. Whoever takes it sends it. */
  takeUnanswered(): WriteRequest | undefined {
    for (const [key, request] of this.waiting) {
      this.waiting.delete(key);
      return request;
    }
    return undefined;
  }

  /** Requests whose answer is kept: sent again, they get the same one. */
  get repeatable(): readonly WriteRequest[] {
    return this.keysLast ? this.answered : [];
  }
}
