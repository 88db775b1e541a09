import { useState } from 'preact/hooks';

const PLACE = 'governance-console-log-key';

/** The public key of the log, as its holder gave it to this browser; null if nobody has. */
export function useLogKey(): readonly [string | null, (key: string | null) => void] {
  const [key, setKey] = useState(storedKey);
  const keep = (now: string | null): void => {
    setKey(now);
    try {
      if (now === null) localStorage.removeItem(PLACE);
      else localStorage.setItem(PLACE, now);
    } catch {
      // A browser that stores nothing shows the form each time.
    }
  };
  return [key, keep];
}

function storedKey(): string | null {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
}
