import { isReplayed } from '../../support/application/send';
import type { Attempt } from './history';

/** The attempts of each request: all that were sent under its key; one that has no key was sent once. */
export function attemptsByRequest(attempts: readonly Attempt[]): Attempt[][] {
  const requests = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    const name = attempt.key ?? attempt.requestId;
    requests.set(name, [...(requests.get(name) ?? []), attempt]);
  }
  return [...requests.values()];
}

/** The attempt that tells what the request came to: the first that settled it; else one that may have; else any. */
export function settlingAttempt(attempts: readonly Attempt[]): Attempt | undefined {
  const isUnknown = ({ answer }: Attempt): boolean => answer === null;
  return attempts.find(isKept) ?? attempts.find(isFinal) ?? attempts.find(isUnknown) ?? attempts[0];
}

/**
 * What is wrong with the answers to one request. Its entries together are one effect, as those of a request that was sent
 * once: here it is whose they are, and what the others were answered.
 */
export function keyFaults(attempts: readonly Attempt[], leftEntries: (attempt: Attempt) => boolean): string[] {
  const name = `${attempts[0]?.operation} ${attempts[0]?.path} under ${attempts[0]?.key}`;
  const kept = attempts.filter(isKept);
  const first = kept.filter(({ answer }) => answer !== null && !isReplayed(answer));
  const wrong: [what: string, isWrong: boolean][] = [
    ['has different answers', new Set(kept.map(({ answer }) => `${answer?.status} ${answer?.text}`)).size > 1],
    ['was settled, and answered otherwise', kept.length > 0 && attempts.some((it) => isFinal(it) && !isKept(it))],
    ['has several first answers', first.length > 1],
    ['has a first answer to another than took effect', isOfAnother(first[0], attempts.filter(leftEntries))],
    ['took effect where that was denied', attempts.filter(isDenial).some(leftEntries)],
  ];
  return wrong.flatMap(([what, isWrong]) => (isWrong ? [`${name} ${what}`] : []));
}

/** Done or refused by rule: from then on this is the answer. */
export function isKept({ answer }: Attempt): boolean {
  return answer !== null && (answer.status < 300 || answer.status === 403);
}

/** Answered, and not to be sent again as it is. */
function isFinal({ answer }: Attempt): boolean {
  return answer !== null && answer.status < 500;
}

/** Answered that nothing was written, or that an earlier attempt had written it. */
function isDenial({ answer }: Attempt): boolean {
  return answer !== null && (answer.status >= 500 || isReplayed(answer));
}

function isOfAnother(first: Attempt | undefined, effective: readonly Attempt[]): boolean {
  return first !== undefined && effective.length > 0 && !effective.includes(first);
}
