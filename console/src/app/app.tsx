import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { forgetKey, keepKey, keptKey, openSession, type Session, SessionContext } from '../api/session.js';
import { cameFromIssuer, issuerOfPage, takeToken } from '../api/oidc.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in.js';

const ENDED =
  'The service no longer accepts your key: it was revoked or has expired, or its agent was suspended. Sign in with another one.';

/** Who is signed in, or the way in. */
export function App(): JSX.Element {
  const [session, setSession] = useState<Session | null>(null);
  const [opening, setOpening] = useState(keptKey() !== null || cameFromIssuer());
  const [message, setMessage] = useState<string | null>(null);

  const leave = useCallback((why: string | null) => {
    forgetKey();
    setSession(null);
    setMessage(why);
  }, []);

  const enter = useCallback(
    async (key: string, keeps: boolean): Promise<void> => {
      let isOpen = false;
      const opened = await openSession(key, () => {
        if (isOpen) leave(ENDED);
      });
      isOpen = true;
      if (keeps) keepKey(key);
      setMessage(null);
      setSession(opened);
    },
    [leave],
  );

  useEffect(() => {
    const issuer = issuerOfPage();
    if (issuer !== null && cameFromIssuer()) {
      takeToken(issuer)
        .then((token) => enter(token, false))
        .catch((error: unknown) => leave(error instanceof Error ? error.message : String(error)))
        .finally(() => setOpening(false));
      return;
    }
    const key = keptKey();
    if (key === null) {
      setOpening(false);
      return;
    }
    enter(key, true)
      .catch(() => leave(ENDED))
      .finally(() => setOpening(false));
  }, [enter, leave]);

  useEffect(() => session?.feed.start(), [session]);

  if (opening) return <p class="loading">Signing in …</p>;
  if (session === null) return <SignIn enter={enter} message={message} />;
  return (
    <SessionContext.Provider value={session}>
      <Shell signOut={() => leave(null)} />
    </SessionContext.Provider>
  );
}
