import type { JSX, TargetedSubmitEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { issuerOfPage, leaveForIssuer, unreachableIssuer } from '../api/oidc.js';
import { Fault } from '../api/fault.js';
import { useDrafts } from '../ui/drafts.js';
import { Problem } from '../ui/parts.js';
import { Shield } from '../ui/icons.js';
import { UnsavedKeyList } from '../ui/unsaved-keys.js';
import { showCount } from './count.js';

interface SignInProps {
  readonly enter: (key: string, keepsKey: boolean) => Promise<void>;
  /** Why somebody who was signed in has to sign in again. */
  readonly message: string | null;
}

/** The sign-in page. The key is sent in a header, and stored only if its holder chooses so. */
export function SignIn({ enter, message }: SignInProps): JSX.Element {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const drafts = useDrafts();
  const field = useRef<HTMLInputElement>(null);
  // Immediately, so that nothing typed before the next frame is lost.
  useLayoutEffect(() => {
    showCount(0, 'Sign in');
    field.current?.focus();
  }, []);

  const submit = async (form: HTMLFormElement): Promise<void> => {
    const values = new FormData(form);
    const key = values.get('key');
    if (typeof key !== 'string' || key.trim() === '') return;
    setBusy(true);
    setError(null);
    try {
      // No header can carry others, and the browser would say only that nothing was sent.
      if (!/^[\x20-\x7e]+$/.test(key.trim()))
        throw new Fault('This is not a key: it has characters that no key has.', 'Copy only the key itself.');
      await enter(key.trim(), values.get('keep') !== null);
    } catch (reason) {
      setBusy(false);
      setError(reason);
    }
  };
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void submit(event.currentTarget);
  };

  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <Shield />
      <h1>Governance console</h1>
      <p class="lead">See what agents want to do, decide, and check the proof.</p>
      {message === null ? null : (
        <p class="notice warn" role="alert">
          {message}
        </p>
      )}
      {drafts.areAny ? (
        <p class="notice">What you typed is kept in this tab, for you alone, until you sign in again.</p>
      ) : null}
      <UnsavedKeyList />
      <AtIssuer />
      <form onSubmit={onSubmit}>
        <label for="key">Your key</label>
        <input
          ref={field}
          id="key"
          name="key"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          aria-describedby="key-help"
        />
        <p id="key-help" class="help">
          An administrator gives you one of your own, which begins with <code>agk_</code>; to decide, it needs the
          scopes <code>review</code> and <code>read</code>. Whoever started the service can use its <code>API_KEY</code>
          , or the key that it printed.
        </p>
        <label class="check">
          <input type="checkbox" name="keep" /> Stay signed in until I close this tab
        </label>
        {error === null ? null : <Problem error={error} />}
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}

/** Signing in at the issuer of tokens. */
function AtIssuer(): JSX.Element | null {
  const [issuer, unreachable] = [issuerOfPage(), unreachableIssuer()];
  const drafts = useDrafts();
  if (unreachable !== null) {
    return (
      <p class="notice warn">
        The service cannot reach {new URL(unreachable).host} at the moment, so nobody can sign in there. Reload the page
        in half a minute, or sign in with a key.
      </p>
    );
  }
  if (issuer === null) return null;
  const { host } = new URL(issuer.issuer);
  const leave = (): void => {
    drafts.carry();
    void leaveForIssuer(issuer);
  };
  return (
    <div class="at-issuer">
      {isSecureContext ? (
        <button type="button" class="primary" onClick={leave}>
          Sign in at {host}
        </button>
      ) : (
        <p class="notice warn">Signing in at {host} needs https: open the console by its https address.</p>
      )}
      <p class="quiet">or with a key</p>
    </div>
  );
}
