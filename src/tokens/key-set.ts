import { readFile } from 'node:fs/promises';
import { unavailable } from '../errors/domain-error';
import { type TokenKey, tokenKeys } from './token-key';

/** Milliseconds. Checks are up to a minute and a half apart, and keys must be at most ten minutes old. */
const REFRESH = 8 * 60_000;
const RETRY = 30_000;
const LONGEST_FETCH = 5_000;
const LONGEST_USE = 24 * 3_600_000;
const MOST_BYTES = 1024 * 1024;

/** The keys of one issuer, fetched periodically; while it cannot be reached, the last ones stay valid for a day. */
export class KeySet {
  private keys: readonly TokenKey[] | null = null;
  /** Monotonic milliseconds: of the last keys, and of the last attempt. */
  private fetchedAt = 0;
  private askedAt = -Infinity;
  private fetching: Promise<void> | null = null;

  constructor(
    private readonly source: string,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** The known keys, if they are still valid. */
  get current(): readonly TokenKey[] {
    const isGood = this.keys !== null && performance.now() - this.fetchedAt < LONGEST_USE;
    return isGood ? (this.keys ?? []) : [];
  }

  /** Whether a key is still listed: one that no longer is is not trusted. */
  lists(thumbprint: string): boolean {
    return this.current.some((key) => key.thumbprint === thumbprint);
  }

  /**
   * Keys to find one with this id: they are fetched again if it is not among them.
   * @throws UNAVAILABLE if they have never been fetched.
   */
  async keysFor(kid: string | null): Promise<readonly TokenKey[]> {
    const isKnown = this.keys !== null && (kid === null || this.current.some((key) => key.kid === kid));
    if (!isKnown && performance.now() - this.askedAt >= RETRY) await this.fetch();
    else if (!isKnown) await this.fetching;
    if (this.keys === null) throw unavailable('The keys of the issuer of the token cannot be reached now.');
    return this.current;
  }

  /** Fetches the keys if they are due. */
  async refresh(): Promise<void> {
    if (this.keys === null || performance.now() - this.fetchedAt >= REFRESH) await this.fetch();
  }

  private fetch(): Promise<void> {
    this.askedAt = performance.now();
    this.fetching ??= this.read()
      .catch(this.onFailure)
      .finally(() => (this.fetching = null));
    return this.fetching;
  }

  private async read(): Promise<void> {
    const text = /^https?:\/\//i.test(this.source) ? await fetched(this.source) : await readFile(this.source, 'utf8');
    const keys = tokenKeys(text);
    if (keys === undefined) throw new Error(`The content of ${this.source} is not a key set.`);
    this.keys = keys;
    this.fetchedAt = performance.now();
  }
}

async function fetched(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(LONGEST_FETCH) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}.`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error(`${url} answered with more than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
