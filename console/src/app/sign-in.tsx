import type { JSX, TargetedSubmitEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { issuerOfPage, leaveForIssuer } from '../api/oidc.js';
import { Problem } from '../ui/parts.js';
import { Shield } from '../ui/icons.js';

interface SignInProps {
  readonly enter: (key: string, keeps: boolean) => Promise<void>;
  /** Why somebody who was signed in is asked again. */
  readonly message: string | null;
}

/** The way in. The key goes into a header and nowhere else. */
export function SignIn({ enter, message }: SignInProps): JSX.Element {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // At once: what is typed before the next frame counts, too.
  useLayoutEffect(() => {
    document.title = 'Sign in · Governance console';
    field.current?.focus();
  }, []);

  const submit = async (form: HTMLFormElement): Promise<void> => {
    const given = new FormData(form);
    const key = given.get('key');
    if (typeof key !== 'string' || key.trim() === '') return;
    setBusy(true);
    setError(null);
    try {
      await enter(key.trim(), given.get('keep') !== null);
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
    <main class="sign-in">
      <Shield />
      <h1>Governance console</h1>
      <p class="lead">See what agents want to do, decide, and check the proof.</p>
      {message === null ? null : (
        <p class="notice warn" role="alert">
          {message}
        </p>
      )}
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
          It begins with <code>agk_</code>. Ask an administrator for a key bound to you, with the scopes{' '}
          <code>review</code> and <code>read</code>.
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
  const issuer = issuerOfPage();
  if (issuer === null) return null;
  const { host } = new URL(issuer.issuer);
  return (
    <div class="at-issuer">
      {isSecureContext ? (
        <button type="button" class="primary" onClick={() => void leaveForIssuer(issuer)}>
          Sign in at {host}
        </button>
      ) : (
        <p class="notice warn">Signing in at {host} needs https: open the console by its https address.</p>
      )}
      <p class="quiet">or with a key</p>
    </div>
  );
}
