import { serviceNow } from '../../api/clock.js';

/** True if an agent is observed: requests that no policy allows are let through, and noted. */
export function isObserved(observeUntil: string | null): observeUntil is string {
  return observeUntil !== null && Date.parse(observeUntil) > serviceNow();
}
