import type { Attempt, WriteRequest } from './history';
import { isKept } from './key-faults';

/** Number of answered requests that are repeated. */
const REMEMBERED = 40;

/** The writes that carry an idempotency key: those that wait to be repeated, and those that may be. */
export class KeyedWrites {
  private readonly waiting = new Map<string, WriteRequest>();
  private readonly answeredRequests: WriteRequest[] = [];

  /** @param keysLast false if the ledger's clock moves so far that keys expire. */
  constructor(private readonly keysLast: boolean) {}

  /** Notes an attempt; a request without an answer, or with 5xx, waits to be repeated. */
  note(request: WriteRequest, attempt: Attempt): void {
    const { key, answer } = attempt;
    if (key === undefined) return;
    if (answer === null || answer.status >= 500) this.waiting.set(key, request);
    else this.waiting.delete(key);
    if (!isKept(attempt) || this.answeredRequests.includes(request)) return;
    this.answeredRequests.push(request);
    if (this.answeredRequests.length > REMEMBERED) this.answeredRequests.shift();
  }

  get unanswered(): readonly WriteRequest[] {
    return [...this.waiting.values()];
  }

  /** Removes and returns the unanswered request that has waited longest, for the caller to send. */
  takeUnanswered(): WriteRequest | undefined {
    for (const [key, request] of this.waiting) {
      this.waiting.delete(key);
      return request;
    }
    return undefined;
  }

  /** Requests whose answer is stored: repeated, they get the same one. */
  get repeatable(): readonly WriteRequest[] {
    return this.keysLast ? this.answeredRequests : [];
  }
}
