import { printError } from './output.js';
import { GovernanceError } from '../../typescript/src/index.js';
import {
  connectionFault,
  isUnusable,
  unreachableText,
  wasNeverConnected,
} from '../../typescript/src/never-connected.js';

/** Milliseconds for which a service that has not answered yet is looked for. */
const LONGEST_SEARCH = 1_500;
/** Milliseconds after which whoever waits at a terminal learns what for. */
const LONGEST_SILENCE = 2_000;

/**
 * As `fetch`, for commands that somebody waits for: a service that is not there is an error within seconds. One that has
 * answered before is waited for as usual, as it may be starting anew, and that is said once.
 */
export function findingFetch(url: string): typeof fetch {
  let hasAnswered = false;
  let hasSaid = false;
  let since: number | null = null;
  const say = (why: string | null): void => {
    if (!hasSaid)
      printError(`The governance service at ${url} does not answer${why === null ? '' : `, as ${why}`}: trying again.`);
    hasSaid = true;
  };
  return async (...request) => {
    since ??= Date.now();
    const isWatched = !hasAnswered && process.stderr.isTTY;
    const silence = isWatched ? setTimeout(() => say(null), LONGEST_SILENCE) : undefined;
    try {
      const answer = await fetch(...request);
      hasAnswered = true;
      since = null;
      return answer;
    } catch (cause) {
      since ??= Date.now();
      const isLate = Date.now() - since >= LONGEST_SEARCH;
      const fault = connectionFault(cause);
      if (!hasAnswered && (isUnusable(cause) || (wasNeverConnected(cause) && isLate))) {
        const facts = { code: 'UNREACHABLE', status: null, cause };
        throw new GovernanceError(unreachableText(url, cause), facts);
      }
      // A connection that broke shows that somebody listens, and may have acted: the request is repeated as usual.
      hasAnswered ||= !wasNeverConnected(cause);
      if (isLate && fault !== null) say(fault);
      throw cause;
    } finally {
      clearTimeout(silence);
    }
  };
}
