import { expectOthersKept } from './recompute.mjs';
import { referencesIn } from './history.mjs';

/**
 * Checks that records stay as actions of the service have left them: modules change none, an erasure only takes
 * contents away, and nothing rests on what was erased.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./log-history.mjs').LogHistory} LogHistory
 * @typedef {import('./report.mjs').Report} Report
 */

/** Actions that rest on a decision or on a grant. */
const RESTING = [
  ...['execution.authorized', 'execution.denied', 'execution.approval_requested', 'execution.resumed'],
  ...['execution.approved', 'execution.rejected', 'grant.created'],
];
const SERVING = ['decision', 'grant'];

/**
 * Checks an entry of a module, or of an erasure, against the state before, as far as the log still has it.
 * @param {Json} entry about an execution, a decision, a grant or a delegation
 * @param {LogHistory} history
 * @param {Report} report
 */
export function expectLasting(entry, history, report) {
  const { sequence, action, subjectType, subjectId, state } = entry;
  if (action === 'execution.erased') report.expect('what is left of the parameters', state.parameters, {});
  if (action === 'decision.erased') report.expect('what is left of the context', state.context, {});
  const before = history.stateBefore(history.entriesAbout(subjectType, subjectId), sequence);
  if (!before || state === null || history.isLost(subjectType, subjectId)) return;
  expectOthersKept(entry, before, history, report);
  if (subjectType === 'decision') report.expect('who reviewed it', reviewersIn(state), reviewersIn(before));
}

/**
 * Finds a decision or a grant on which an entry rests although it was erased before: it serves nothing any more.
 * @param {Json} entry
 * @param {LogHistory} history
 * @returns {string[]} faults
 */
export function erasedFaults({ action, sequence, subjectType, state }, history) {
  if (!RESTING.includes(action)) return [];
  const lastOf = (/** @type {string[]} */ [kind = '', id = '']) =>
    history.entriesAbout(kind, id).findLast((entry) => entry['sequence'] < sequence);
  const references = referencesIn(subjectType, state, {}).filter(([kind = '']) => SERVING.includes(kind));
  return references
    .flatMap((reference) => [reference, ...referencesIn(reference[0] ?? '', lastOf(reference)?.['state'] ?? {}, {})])
    .filter((reference) => {
      const last = lastOf(reference);
      return last?.['action'] === `${reference[0]}.erased` || last?.['state']?.erased === true;
    })
    .map(([kind, id]) => `it rests on the ${kind} ${id}, which was erased before`);
}

/**
 * Returns what an erasure leaves of the reviews of a decision.
 * @param {Json} decision
 */
function reviewersIn({ reviews }) {
  return reviews.map((/** @type {Json} */ { approverId, verdict, createdAt, groups, delegationId }) => [
    ...[approverId, verdict, createdAt],
    ...[groups ?? null, delegationId ?? null],
  ]);
}
