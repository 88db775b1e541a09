import type { JSX } from 'preact';
import { Shield } from '../ui/icons.js';
import { Problem } from '../ui/parts.js';

interface NotOpenedProps {
  readonly error: unknown;
  readonly retry: () => void;
  readonly leave: () => void;
}

/** Shown if the service could not check the stored key, which is kept until it can. */
export function NotOpened({ error, retry, leave }: NotOpenedProps): JSX.Element {
  return (
    <main class="sign-in">
      <Shield />
      <h1>Governance console</h1>
      <p class="lead">You are still signed in.</p>
      <Problem error={error} retry={retry} />
      <button type="button" onClick={leave}>
        Sign out
      </button>
    </main>
  );
}
