import { sleep } from '../../../clients/typescript/src/sleep.js';
import { type AuditEntry, GovernanceClient, GovernanceError, type TransportOptions } from './types.js';
import { watchedStream } from './watched-stream.js';

/** Milliseconds between checks if the trail may not be followed. */
const LOOK_EVERY = 10_000;

export type FeedMode = 'live' | 'reconnecting' | 'looking' | 'paused' | 'away';

/** The change; null if something unknown may have changed. */
type Listener = (entry: AuditEntry | null) => void;

/**
 * Follows what happens: with the event stream if the caller may follow the trail, otherwise with a check every ten
 * seconds. A hidden page closes its stream, and checks immediately when it is shown again.
 */
export class Feed {
  private readonly listeners = new Set<Listener>();
  private readonly modeListeners = new Set<(mode: FeedMode) => void>();
  private abort: AbortController | null = null;
  /** Number of entries in the ledger at the last check. */
  private seen: number | null = null;
  /** The entry after which the stream begins; null if it begins at the head, once the page has been reloaded. */
  private after: number | null = null;
  mode: FeedMode = 'paused';

  constructor(
    private readonly client: GovernanceClient,
    private readonly connection: TransportOptions,
    private readonly mayFollow: boolean,
    private readonly mayCount: boolean,
  ) {}

  /**
   * Records the head of the ledger before the page loads anything, so that nothing is missed and nothing loaded twice.
   */
  async prepare(): Promise<void> {
    try {
      if (this.mayFollow) this.after = await this.head();
      else if (this.mayCount) this.seen = await this.length();
    } catch {
      // The page is reloaded once the feed has begun.
    }
  }

  /** Starts the feed, and returns a function that stops it. */
  start(): () => void {
    const onVisibility = (): void => (document.hidden ? this.pause() : this.resume());
    document.addEventListener('visibilitychange', onVisibility);
    if (!document.hidden) this.begin();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      this.pause();
    };
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  followMode(listener: (mode: FeedMode) => void): () => void {
    this.modeListeners.add(listener);
    return () => this.modeListeners.delete(listener);
  }

  private pause(): void {
    this.abort?.abort(new DOMException('The page is hidden.', 'AbortError'));
    this.abort = null;
    this.setMode('paused');
  }

  private resume(): void {
    this.seen = null;
    this.after = null;
    this.begin();
  }

  private begin(): void {
    this.abort?.abort();
    this.abort = new AbortController();
    void this.run(this.abort.signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.mayFollow) await this.follow(signal);
      // It may have been stopped in the meantime.
      if (isAborted(signal)) return;
      if (await this.hasChanged(signal)) this.tell(null);
      await sleep(LOOK_EVERY, signal).catch(() => undefined);
    }
  }

  /** Follows the stream, and returns when it is not available. */
  private async follow(signal: AbortSignal): Promise<void> {
    try {
      const { after } = this;
      this.after = null;
      const from = after ?? (await this.head(signal));
      let isOutdated = after === null;
      const onConnection = (isOpen: boolean): void => {
        if (signal.aborted) return;
        this.setMode(isOpen ? 'live' : 'reconnecting');
        // What was shown before may be outdated; from here on nothing is missed.
        if (isOpen && isOutdated) this.tell(null);
        isOutdated &&= !isOpen;
      };
      const client = new GovernanceClient(watchedStream(this.connection, onConnection));
      for await (const entry of client.events({ after: from, signal })) this.tell(entry);
    } catch {
      // The page polls for a while, then tries the stream again.
    }
  }

  /** True if anything was written since the last check, or if that is unknown. Otherwise lists are not reloaded. */
  private async hasChanged(signal: AbortSignal): Promise<boolean> {
    try {
      const count = await this.length(signal);
      const isSame = count !== null && count === this.seen;
      this.seen = count;
      this.setMode('looking');
      return !isSame;
    } catch (error) {
      // Whatever else failed in the meantime is reloaded after the next successful check.
      this.seen = null;
      if (!signal.aborted) this.setMode(isAway(error) ? 'away' : 'looking');
      return false;
    }
  }

  private async head(signal?: AbortSignal): Promise<number> {
    const request = { query: { order: 'desc', limit: 1 } } as const;
    const { data } = await this.client.get(
      '/api/v1/provenance',
      signal === undefined ? request : { ...request, signal },
    );
    return data[0]?.sequence ?? 0;
  }

  /** The length of the ledger; null if the caller may not see it. @throws if the service is not reachable. */
  private async length(signal?: AbortSignal): Promise<number | null> {
    const request = signal === undefined ? {} : { signal };
    if (this.mayCount) return (await this.client.get('/api/v1/stats', request)).provenanceEntries;
    if (this.mayFollow) return this.head(signal);
    await this.client.get('/api/v1/me', request);
    return null;
  }

  private tell(entry: AuditEntry | null): void {
    for (const listener of [...this.listeners]) listener(entry);
  }

  private setMode(mode: FeedMode): void {
    this.mode = mode;
    for (const listener of this.modeListeners) listener(mode);
  }
}

/** A service that answers, even with a refusal, is reachable. */
function isAway(error: unknown): boolean {
  return !(error instanceof GovernanceError) || error.status === null || error.status >= 500;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
