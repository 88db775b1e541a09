import { isDeepStrictEqual } from 'node:util';
import { withoutUnset } from '../../support/requests/sealed-form';
import type { Parsed } from '../../support/application/send';
import { type Attempt, TRACES } from './history';
import { attemptsByRequest, keyFaults, settlingAttempt } from './key-faults';
import type { Snapshot, SnapshotEntry } from './snapshot';

/** Actions that the service records by itself, without a request. */
const OF_THE_SERVICE: ReadonlySet<string> = new Set(['decision.expired', 'execution.interrupted']);
/** Members of requests that are not members of the record they create or change. */
const NOT_OF_THE_RECORD: ReadonlySet<string> = new Set(['approverId', 'comment', 'reason']);

/**
 * Compares the entries with the answers of the clients: an acknowledged write exists with equal content, a refused one
 * does not, one without an answer exists completely or not at all, and there is nothing that nobody requested. What was
 * sent several times under one key exists as if it had been sent once.
 */
export function historyFaults(attempts: readonly Attempt[], { entries }: Snapshot): string[] {
  const byRequest = new Map<string, SnapshotEntry[]>();
  const faults: string[] = [];
  const requests = new Set(attempts.map(({ requestId }) => requestId));
  for (const entry of entries) {
    const { requestId, action, actor } = entry.audit ?? {};
    const isOfService = actor?.type === 'system';
    if (!(isOfService ? OF_THE_SERVICE.has(action) : requests.has(requestId))) {
      faults.push(`nobody asked for entry ${entry.row.sequence}, ${action}`);
    }
    // An expiry that a late review notices has the id of that request, although the request did not cause it.
    if (!isOfService) byRequest.set(requestId, [...(byRequest.get(requestId) ?? []), entry]);
  }
  const left = ({ requestId }: Attempt): SnapshotEntry[] => byRequest.get(requestId) ?? [];
  return [...faults, ...attemptsByRequest(attempts).flatMap((those) => requestFaults(those, left))];
}

function requestFaults(all: readonly Attempt[], left: (attempt: Attempt) => SnapshotEntry[]): string[] {
  const refusals = all.filter((attempt) => isRefusedLater(attempt, all, left));
  const attempts = all.filter((attempt) => !refusals.includes(attempt));
  const settling = settlingAttempt(attempts);
  const faults = [
    ...refusals.flatMap((refusal) => attemptFaults(refusal, left(refusal))),
    ...(settling === undefined ? [] : attemptFaults(settling, attempts.flatMap(left))),
  ];
  return settling?.key === undefined
    ? faults
    : [...faults, ...keyFaults(attempts, (attempt) => left(attempt).length > 0)];
}

/** True if the attempt was refused, in a separate record, after another one under its key was authorised. */
function isRefusedLater(
  attempt: Attempt,
  all: readonly Attempt[],
  left: (attempt: Attempt) => SnapshotEntry[],
): boolean {
  const sequenceOf = (of: Attempt, action: string): number | undefined =>
    left(of).find(({ audit }) => audit.action === action)?.row.sequence;
  const refused = sequenceOf(attempt, 'execution.denied');
  return refused !== undefined && all.some((other) => (sequenceOf(other, 'execution.authorized') ?? refused) < refused);
}

function attemptFaults(attempt: Attempt, entries: readonly SnapshotEntry[]): string[] {
  const { operation, path, answer } = attempt;
  const actions = entries.map(({ audit }) => audit.action);
  const outcome = answer === null ? 'without an answer' : `answered ${answer.status}`;
  const name = `${operation} ${path}, ${outcome},`;
  if (!possibleTraces(attempt).some((trace) => isDeepStrictEqual(trace, actions))) {
    return [`${name} left [${actions.join()}]`];
  }
  const last = entries.at(-1);
  if (last === undefined) return [];
  if (answer?.status === 403) return last.audit.outcome === 'denied' ? [] : [`${name} is not on record as denied`];
  const faults = wrongMembers(attempt, last.state).map((member) => `${name} has another ${member} than was sent`);
  if (answer !== null && !isAsAnswered(answer.body, last)) faults.push(`${name} is not there as it was answered`);
  return faults;
}

function possibleTraces({ operation, answer }: Attempt): readonly (readonly string[])[] {
  const { done, refused } = TRACES[operation];
  if (answer === null) return [...done, ...refused, []];
  if (answer.status < 300) return done;
  return answer.status === 403 && refused.length > 0 ? refused : [[]];
}

/** Compares what was sent with the first state that it led to. */
function wrongMembers({ body = {} }: Attempt, state: Parsed): string[] {
  return Object.entries(body).flatMap(([member, value]) => {
    if (NOT_OF_THE_RECORD.has(member) || state === null || !(member in state)) return [];
    return isDeepStrictEqual(state[member], value) ? [] : [member];
  });
}

/** The answer shows the record as the entry has it; that of a removal is empty. */
function isAsAnswered(body: Parsed, { state, audit }: SnapshotEntry): boolean {
  if (state === null || body === undefined) return state === null && body === undefined;
  const members = withoutUnset(body);
  const answeredState = Object.fromEntries(Object.keys(state).map((member) => [member, members[member]]));
  return body.id === audit.subjectId && isDeepStrictEqual(answeredState, state);
}
