import type { JSX } from 'preact';
import { serviceNow } from '../api/clock.js';
import { useSession } from '../api/session.js';
import { durationText } from '../ui/format.js';
import { LocalTime, useNow } from '../ui/time.js';

/** Milliseconds before the end of the session at which the page says so. */
const SOON = 120_000;

/** When the key or token expires, if it does. */
export function SignedInUntil(): JSX.Element | null {
  const { expiresAt } = useSession().me;
  return expiresAt === null ? null : (
    <small>
      Signed in until <LocalTime iso={expiresAt} />
    </small>
  );
}

/** Says in time that the session ends. */
export function EndsSoon(): JSX.Element | null {
  const { expiresAt } = useSession().me;
  useNow(5_000);
  const remainingMs = expiresAt === null ? Infinity : Date.parse(expiresAt) - serviceNow();
  if (remainingMs > SOON) return null;
  return (
    <div class="notice warn">
      <strong role="alert">You will be signed out soon: your key or token expires.</strong>
      <p>
        {remainingMs <= 0 ? 'It has expired.' : `It has ${durationText(remainingMs)} left.`} Comments and policies that
        you type are kept in this tab for when you sign in again.
      </p>
    </div>
  );
}
