import { isReplayed } from '../../support/application/send';
import type { Attempt } from './history';

/** The attempts of each request: all that were sent under its key; a request without a key was sent once. */
export function attemptsByRequest(attempts: readonly Attempt[]): Attempt[][] {
  const requests = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    const name = attempt.key ?? attempt.requestId;
    requests.set(name, [...(requests.get(name) ?? []), attempt]);
  }
  return [...requests.values()];
}

/**
 * The attempt that shows the outcome of the request: the first that settled it; otherwise one that may have; otherwise
 * any.
 */
export function settlingAttempt(attempts: readonly Attempt[]): Attempt | undefined {
  const isUnknown = ({ answer }: Attempt): boolean => answer === null;
  return attempts.find(isKept) ?? attempts.find(isFinal) ?? attempts.find(isUnknown) ?? attempts[0];
}

/**
 * Faults in the answers to one request. All its entries together are one effect, as if the request had been sent
 * once: this checks which attempt they belong to, and how the others were answered.
 */
export function keyFaults(attempts: readonly Attempt[], leftEntries: (attempt: Attempt) => boolean): string[] {
  const name = `${attempts[0]?.operation} ${attempts[0]?.path} under ${attempts[0]?.key}`;
  const keptAttempts = attempts.filter(isKept);
  const first = keptAttempts.filter(({ answer }) => answer !== null && !isReplayed(answer));
  const wrong: [what: string, isWrong: boolean][] = [
    ['has different answers', new Set(keptAttempts.map(({ answer }) => `${answer?.status} ${answer?.text}`)).size > 1],
    [
      'was settled, and answered otherwise',
      keptAttempts.length > 0 && attempts.some((it) => isFinal(it) && !isKept(it)),
    ],
    ['has several first answers', first.length > 1],
    ['has a first answer to another than took effect', isOfAnother(first[0], attempts.filter(leftEntries))],
    ['took effect where that was denied', attempts.filter(isDenial).some(leftEntries)],
  ];
  return wrong.flatMap(([what, isWrong]) => (isWrong ? [`${name} ${what}`] : []));
}

/** Done or refused by a rule: from then on this is the answer. */
export function isKept({ answer }: Attempt): boolean {
  return answer !== null && (answer.status < 300 || answer.status === 403);
}

/** Answered, and not to be repeated unchanged. */
function isFinal({ answer }: Attempt): boolean {
  return answer !== null && answer.status < 500;
}

/** The answer said that nothing was written, or that an earlier attempt had written it. */
function isDenial({ answer }: Attempt): boolean {
  return answer !== null && (answer.status >= 500 || isReplayed(answer));
}

function isOfAnother(first: Attempt | undefined, effective: readonly Attempt[]): boolean {
  return first !== undefined && effective.length > 0 && !effective.includes(first);
}
