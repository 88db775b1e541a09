import { sha256 } from './chain/hash-chain';

/** One write of a request that carries an `Idempotency-Key`. */
export interface IdempotentWrite {
  /** Hex; identifies the write among all of the last 24 hours. */
  readonly id: string;
  /** Hex; a different hash under the same id means a different request. */
  readonly contentHash: string;
  /** Called when the write's first answer is replayed instead of running its command. */
  readonly onReplay: () => void;
}

/**
 * A request that takes effect once, however often it is sent. Its writes are numbered in order: after a crash
 * between two of them, a retry replays the first and runs the second.
 */
export class IdempotentRequest {
  private readonly scopeHash: string;
  private contentHash: string | null = null;
  private writes = 0;
  /** Whether any write so far was replayed from an earlier request. */
  isReplayed = false;

  /**
   * @param scope what makes a key unique: caller, method, path, and the key.
   * @param content the request's content in canonical form; called with the first write, when the request is known to
   * be valid.
   * @param onReplay called when the answer is going to be an earlier one.
   */
  constructor(
    scope: readonly string[],
    private readonly content: () => string,
    private readonly onReplay: () => void,
  ) {
    this.scopeHash = sha256(JSON.stringify(scope));
  }

  nextWrite(): IdempotentWrite {
    this.contentHash ??= sha256(this.content());
    const id = this.writes === 0 ? this.scopeHash : sha256(`${this.scopeHash} ${this.writes}`);
    this.writes += 1;
    const onReplay = (): void => {
      this.isReplayed = true;
      this.onReplay();
    };
    return { id, contentHash: this.contentHash, onReplay };
  }
}
