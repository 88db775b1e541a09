import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { explain } from '../api/fault.js';
import { forgetKey, hasEnded, keepKey, keptKey, openSession, type Session, SessionProvider } from '../api/session.js';
import { cameFromIssuer, issuerOfPage, takeToken } from '../api/oidc.js';
import { GovernanceError } from '../api/types.js';
import { Drafts, DraftsProvider, useDrafts } from '../ui/drafts.js';
import { UnsavedKeysProvider, useKeptKeys, useUnsavedKeys } from '../ui/unsaved-keys.js';
import { Shell } from './shell.js';
import { NotOpened } from './not-opened.js';
import { SignIn } from './sign-in.js';

const ENDED =
  'The service no longer accepts your key: it was revoked or has expired, or its agent was suspended. Sign in with another one.';

/** The console. Issued keys and drafts are kept above the session, which may end before they are saved or sent. */
export function App(): JSX.Element {
  const unsavedKeys = useKeptKeys();
  const [drafts] = useState(() => new Drafts());
  return (
    <UnsavedKeysProvider value={unsavedKeys}>
      <DraftsProvider value={drafts}>
        <Visit />
      </DraftsProvider>
    </UnsavedKeysProvider>
  );
}

/** The screens for whoever is signed in, or the sign-in page. */
function Visit(): JSX.Element {
  const { forget } = useUnsavedKeys();
  const drafts = useDrafts();
  const [session, setSession] = useState<Session | null>(null);
  const [isOpening, setIsOpening] = useState(keptKey() !== null || cameFromIssuer());
  const [message, setMessage] = useState<string | null>(null);
  /** Why the kept key could not be tried. */
  const [fault, setFault] = useState<unknown>(null);
  const current = useRef<Session | null>(null);

  const leave = useCallback((why: string | null) => {
    forgetKey();
    current.current = null;
    setFault(null);
    setSession(null);
    setMessage(why);
  }, []);

  const enter = useCallback(
    async (key: string, keepsKey: boolean): Promise<void> => {
      // A late answer to an earlier session must not end the current one.
      let newSession: Session | null = null;
      newSession = await openSession(key, () => {
        if (newSession !== null && newSession === current.current) leave(ENDED);
      });
      current.current = newSession;
      drafts.openFor(newSession.me);
      if (keepsKey) keepKey(key);
      setMessage(null);
      setSession(newSession);
    },
    [leave, drafts],
  );

  const resume = useCallback(
    async (key: string): Promise<void> => {
      setFault(null);
      setIsOpening(true);
      await enter(key, true).catch((error: unknown) => {
        // An answer of a busy or unreachable service says nothing about the key.
        if (hasEnded(error)) leave(ENDED);
        else setFault(error);
      });
      setIsOpening(false);
    },
    [enter, leave],
  );

  useEffect(() => {
    if (cameFromIssuer()) {
      takeToken(issuerOfPage())
        .then((token) => enter(token, false))
        .catch((error: unknown) => leave(refusalOf(error)))
        .finally(() => setIsOpening(false));
      return;
    }
    const key = keptKey();
    if (key === null) setIsOpening(false);
    else void resume(key);
  }, [enter, leave, resume]);

  useEffect(() => session?.feed.start(), [session]);

  const signOut = (): void => {
    forget();
    drafts.forget();
    leave(null);
  };

  if (isOpening) return <p class="loading">Signing in …</p>;
  const storedKey = keptKey();
  if (fault !== null && storedKey !== null) {
    return <NotOpened error={fault} retry={() => void resume(storedKey)} leave={signOut} />;
  }
  if (session === null) return <SignIn enter={enter} message={message} />;
  return (
    <SessionProvider value={session}>
      <Shell signOut={signOut} />
    </SessionProvider>
  );
}

/** Why signing in at the issuer came to nothing, and what to do about it. */
function refusalOf(error: unknown): string {
  if (!(error instanceof GovernanceError)) return error instanceof Error ? error.message : String(error);
  if (error.reason === 'agent_unknown') return `${error.message} Ask an administrator whether you are registered here.`;
  if (error.status === 401)
    return 'The service does not accept the token of the issuer. Check "jwks" in TOKEN_ISSUERS.';
  const { message, advice } = explain(error);
  return `${message} ${advice}`;
}
