import { useEffect, useRef, useState } from 'preact/hooks';
import { useSession } from './session.js';
import { type AuditEntry, type GovernanceClient, GovernanceError } from './types.js';

/** Milliseconds between looks where the trail may not be followed. */
const LOOK_EVERY = 10_000;
/** So many refreshes may follow each other at once, and then one in this many milliseconds: the rate limit is for all that a person does. */
const BURST = 8;
const REFRESH_EVERY = 6_000;

export type FeedMode = 'live' | 'looking' | 'paused' | 'away';

/** The change; null where something may have changed, and what is not known. */
type Listener = (entry: AuditEntry | null) => void;

/**
 * What happens, as it happens: the event stream for those who may follow the trail, a look every ten seconds for others. A
 * hidden page closes its stream, and looks at once when it is shown again.
 */
export class Feed {
  private readonly listeners = new Set<Listener>();
  private readonly modeListeners = new Set<(mode: FeedMode) => void>();
  private stopping: AbortController | null = null;
  /** Entries of the ledger at the last look. */
  private seen: number | null = null;
  /** The entry after which the stream begins; null: at the head, after the page has been reloaded. */
  private after: number | null = null;
  mode: FeedMode = 'paused';

  constructor(
    private readonly client: GovernanceClient,
    private readonly mayFollow: boolean,
    private readonly mayCount: boolean,
  ) {}

  /** Notes where the ledger is, before the page loads anything: so nothing has to be loaded twice to miss nothing. */
  async prepare(): Promise<void> {
    try {
      if (this.mayFollow) this.after = await this.head();
      else if (this.mayCount) this.seen = await this.count();
    } catch {
      // The page is reloaded once the feed has begun.
    }
  }

  /** Begins, and answers what ends it. */
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
    this.stopping?.abort(new DOMException('The page is hidden.', 'AbortError'));
    this.stopping = null;
    this.setMode('paused');
  }

  private resume(): void {
    this.seen = null;
    this.after = null;
    this.begin();
  }

  private begin(): void {
    this.stopping?.abort();
    this.stopping = new AbortController();
    void this.run(this.stopping.signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.mayFollow) await this.follow(signal);
      // What was awaited may have ended it.
      if (isAborted(signal)) return;
      if (await this.hasChanged(signal)) this.tell(null);
      await pause(LOOK_EVERY, signal);
    }
  }

  /** Ends when the stream cannot be had. */
  private async follow(signal: AbortSignal): Promise<void> {
    try {
      const { after } = this;
      this.after = null;
      const from = after ?? (await this.head(signal));
      this.setMode('live');
      // What was shown before may be old; from here on nothing is missed.
      if (after === null) this.tell(null);
      for await (const entry of this.client.events({ after: from, signal })) this.tell(entry);
    } catch {
      // The page looks by itself for a while, then tries again.
    }
  }

  /** Whether anything was written since the last look: fifty lists are not read again for nothing. True where nobody says. */
  private async hasChanged(signal: AbortSignal): Promise<boolean> {
    if (!this.mayCount) {
      this.setMode('looking');
      return true;
    }
    try {
      const count = await this.count(signal);
      const isSame = count === this.seen;
      this.seen = count;
      this.setMode('looking');
      return !isSame;
    } catch (error) {
      // Whatever else failed meanwhile is asked for again at the next look that succeeds.
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

  private async count(signal?: AbortSignal): Promise<number> {
    return (await this.client.get('/api/v1/stats', signal === undefined ? {} : { signal })).provenanceEntries;
  }

  private tell(entry: AuditEntry | null): void {
    for (const listener of [...this.listeners]) listener(entry);
  }

  private setMode(mode: FeedMode): void {
    this.mode = mode;
    for (const listener of this.modeListeners) listener(mode);
  }
}

/** Calls `refresh` when something changed that `concerns` it: at once, or now and then where changes come in a flood. */
export function useFeed(refresh: () => void, concerns: (entry: AuditEntry) => boolean): void {
  const { feed } = useSession();
  const current = useRef({ refresh, concerns });
  current.current = { refresh, concerns };
  useEffect(() => {
    let permits = BURST;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const filling = setInterval(() => (permits = Math.min(BURST, permits + 1)), REFRESH_EVERY);
    const run = (): void => {
      timer = null;
      permits -= 1;
      current.current.refresh();
    };
    const stop = feed.listen((entry) => {
      if (timer !== null || (entry !== null && !current.current.concerns(entry))) return;
      // What comes together is one change.
      timer = setTimeout(run, permits > 0 ? 60 : REFRESH_EVERY);
    });
    return () => {
      stop();
      clearInterval(filling);
      if (timer !== null) clearTimeout(timer);
    };
  }, [feed]);
}

export function useFeedMode(): FeedMode {
  const { feed } = useSession();
  const [mode, setMode] = useState(feed.mode);
  useEffect(() => feed.followMode(setMode), [feed]);
  return mode;
}

/** A service that answers, if only to refuse, is there. */
function isAway(error: unknown): boolean {
  return !(error instanceof GovernanceError) || error.status === null || error.status >= 500;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end, { once: true });
  });
}
