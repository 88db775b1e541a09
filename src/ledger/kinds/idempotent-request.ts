import { createHash } from 'node:crypto';
import { TimeSlice } from '../../core/concurrency/time-slice';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { canonicalJson, canonicalParts } from '../chain/canonical-json';
import { sha256 } from '../chain/hash-chain';

/** Content that distinguishes requests with the same key. */
export interface RequestContent {
  readonly body: JsonObject;
  readonly query: JsonObject;
}

/** One write of a request that carries an `Idempotency-Key`. */
export interface IdempotentWrite {
  /** Hex; identifies the write among all writes of the last 24 hours. */
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
  private readonly redacted: Record<string, JsonValue> = {};
  /** True if any write so far was replayed from an earlier request. */
  isReplayed = false;

  /**
   * @param scope parts that make a key unique: caller, method, path, and the key
   * @param content called at the first write, when the request is known to be valid
   * @param onReplay called if the response will be an earlier one
   */
  constructor(
    scope: readonly string[],
    private readonly content: () => RequestContent,
    private readonly onReplay: () => void,
  ) {
    this.scopeHash = sha256(JSON.stringify(scope));
  }

  /** Replaces a member of the body before the content is hashed, so that no hash of a secret is stored. */
  redactMember(name: string, value: JsonValue): void {
    if (this.contentHash !== null) throw new Error(`The content was hashed before its member ${name} was redacted.`);
    this.redacted[name] = value;
  }

  /** Hashes the content before the first write. For a body of many items, other requests are served in between. */
  async prepare(): Promise<void> {
    const { body, query } = this.redactedContent();
    const slice = new TimeSlice();
    const hash = createHash('sha256').update('[');
    for (const part of canonicalParts(body)) {
      if (slice.isOver) await slice.next();
      hash.update(part);
    }
    this.contentHash = hash.update(`,${canonicalJson(query)}]`).digest('hex');
  }

  nextWrite(): IdempotentWrite {
    this.contentHash ??= this.hashContent();
    const id = this.writes === 0 ? this.scopeHash : sha256(`${this.scopeHash} ${this.writes}`);
    this.writes += 1;
    const onReplay = (): void => {
      this.isReplayed = true;
      this.onReplay();
    };
    return { id, contentHash: this.contentHash, onReplay };
  }

  private hashContent(): string {
    const { body, query } = this.redactedContent();
    return sha256(canonicalJson([body, query]));
  }

  private redactedContent(): RequestContent {
    const { body, query } = this.content();
    return { body: { ...body, ...this.redacted }, query };
  }
}
