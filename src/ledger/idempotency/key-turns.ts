import type { KeyedWrite } from '../idempotent-request';
import { usedForAnother } from './idempotency-store';

interface Turn {
  readonly contentHash: string;
  /** Resolves when it is over, whatever came of it. */
  readonly over: Promise<unknown>;
}

/** Lets the requests of this process that carry the same idempotency key work one after another. */
export class KeyTurns {
  private readonly last = new Map<string, Turn>();

  /** @throws CONFLICT if a request with another content is at work under the key, or waits to be. */
  async take<Result>({ id, contentHash }: Omit<KeyedWrite, 'onReplay'>, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(id);
    if (before !== undefined && before.contentHash !== contentHash) throw usedForAnother();
    const result = before === undefined ? work() : before.over.then(work);
    const turn = { contentHash, over: result.catch(() => undefined) };
    this.last.set(id, turn);
    try {
      return await result;
    } finally {
      if (this.last.get(id) === turn) this.last.delete(id);
    }
  }
}
