import { serviceNow } from '../../api/clock.js';

/** Whether what no policy allows is let through for an agent, and noted. */
export function isObserved(observeUntil: string | null): observeUntil is string {
  return observeUntil !== null && Date.parse(observeUntil) > serviceNow();
}
