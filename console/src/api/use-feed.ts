import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FeedMode } from './feed.js';
import { Permits } from './permits.js';
import { useSession } from './session.js';
import type { AuditEntry } from './types.js';

/**
 * This many refreshes, of up to two requests each, may follow each other at once, then one per interval: a person
 * shares one rate limit for everything.
 */
const BURST = 4;
const REFRESH_EVERY = 6_000;

/**
 * Calls `refresh` when something that `concerns` it has changed: at once, or at intervals if there are many changes.
 */
export function useFeed(refresh: () => void, concerns: (entry: AuditEntry) => boolean): void {
  const { feed } = useSession();
  const current = useRef({ refresh, concerns });
  current.current = { refresh, concerns };
  // Immediately: something may change before the next frame.
  useLayoutEffect(() => {
    const permits = new Permits(BURST, REFRESH_EVERY);
    let timer: ReturnType<typeof setTimeout> | null = null;
    const refreshNow = (): void => {
      timer = null;
      current.current.refresh();
    };
    const refreshLater = (): void => {
      permits.take();
      refreshNow();
    };
    const stop = feed.listen((entry) => {
      if (timer !== null || (entry !== null && !current.current.concerns(entry))) return;
      // Changes that arrive together count as one.
      timer = permits.take() ? setTimeout(refreshNow, 60) : setTimeout(refreshLater, REFRESH_EVERY);
    });
    return () => {
      stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, [feed]);
}

export function useFeedMode(): FeedMode {
  const { feed } = useSession();
  const [mode, setMode] = useState(feed.mode);
  useLayoutEffect(() => feed.followMode(setMode), [feed]);
  return mode;
}
