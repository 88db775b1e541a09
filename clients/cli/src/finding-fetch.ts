import { printError } from './output.js';
import { GovernanceError } from '../../typescript/src/index.js';
import {
  connectionFault,
  isUnusable,
  unreachableText,
  wasNeverConnected,
} from '../../typescript/src/never-connected.js';

/** Maximum time in milliseconds to look for a service that has not answered yet. */
const MAX_SEARCH_MS = 1_500;
/** Time in milliseconds after which a person at a terminal is told what the command waits for. */
const MAX_SILENCE_MS = 2_000;

/**
 * Sends requests like `fetch`, for commands that somebody waits for: a missing service is an error within seconds. A
 * service that has answered before is waited for as usual, as it may be starting again; a message says so once.
 */
export function findingFetch(url: string): typeof fetch {
  let hasAnswered = false;
  let hasSaid = false;
  let since: number | null = null;
  const say = (failure: string | null): void => {
    if (!hasSaid)
      printError(
        `The governance service at ${url} does not answer${failure === null ? '' : `, as ${failure}`}: trying again.`,
      );
    hasSaid = true;
  };
  return async (...request) => {
    since ??= performance.now();
    const isWatched = !hasAnswered && process.stderr.isTTY;
    const silence = isWatched ? setTimeout(() => say(null), MAX_SILENCE_MS) : undefined;
    try {
      const answer = await fetch(...request);
      hasAnswered = true;
      since = null;
      return answer;
    } catch (cause) {
      since ??= performance.now();
      const isLate = performance.now() - since >= MAX_SEARCH_MS;
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
