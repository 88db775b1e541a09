import { KINDS } from '../hashed-forms.mjs';
import { recomputeAsked } from './requests.mjs';
import { attestedIn } from './attested.mjs';
import { expectAuditForm } from './audit-form.mjs';
import { History } from './history.mjs';
import { Report } from './report.mjs';
import { recomputeResume } from './resume.mjs';
import { GRANTING, recomputeGrant } from './grants.mjs';
import { recomputeReview } from './review.mjs';
import { recomputeSettling, SETTLING } from './settlement.mjs';

/**
 * Decides again what a decision file records, entry by entry. The seals are to be checked before.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {(entry: Json, history: History, report: Report) => void} Recompute
 */

/** @type {ReadonlyMap<string, Recompute>} */
const BY_ACTION = new Map([
  ...['execution.authorized', 'execution.denied', 'execution.approval_requested'].map(with_(recomputeAsked)),
  ...['decision.reviewed', 'decision.approved', 'decision.rejected'].map(with_(recomputeReview)),
  ...['execution.resumed', 'execution.resume_denied'].map(with_(recomputeResume)),
  ...SETTLING.map(with_(recomputeSettling)),
  ...GRANTING.map(with_(recomputeGrant)),
]);

/** What an entry may change of its subject; everything else stays as it was. @type {Readonly<Record<string, string[]>>} */
const CHANGED = {
  'execution.approved': ['outcome', 'approvedUntil'],
  'execution.rejected': ['outcome', 'completedAt', 'instead'],
  'execution.expired': ['outcome', 'completedAt'],
  'execution.cancelled': ['outcome', 'completedAt'],
  'execution.resumed': ['outcome', 'policies', 'observed'],
  'execution.completed': ['outcome', 'completedAt', 'result', 'failureReason'],
  'execution.interrupted': ['outcome', 'completedAt', 'failureReason'],
  'decision.reviewed': ['reviews', 'updatedAt'],
  'decision.approved': ['reviews', 'updatedAt', 'status', 'resolvedAt'],
  'decision.rejected': ['reviews', 'updatedAt', 'status', 'resolvedAt'],
  'decision.expired': ['updatedAt', 'status', 'resolvedAt'],
  'decision.cancelled': ['updatedAt', 'status', 'resolvedAt'],
  'grant.used_up': ['status'],
  'grant.expired': ['status'],
  'grant.revoked': ['status'],
  'stop.lifted': ['status', 'liftedAt'],
};
const BEGINNINGS = [
  'execution.authorized',
  'execution.denied',
  'execution.approval_requested',
  'decision.proposed',
  'grant.created',
  'stop.created',
];

/**
 * @param {import('./read-file.mjs').DecisionFile} file
 * @param {ReadonlySet<string>} made the signatures that the keys of their passkeys made
 * @returns {{ outcome: string, report: Report, history: History }}
 */
export function recompute(file, made) {
  const [history, report] = [new History(file, made), new Report()];
  if (history.ofExecution.length === 0) report.differ(`the file has no entry of the execution ${file.executionId}`);
  expectForwardTime(file.entries, report);
  for (const entry of file.entries) {
    expectKnown(entry, report);
    expectAuditForm(entry, history, report);
    if (entry['subjectType'] === 'stop') expectUnchanged(entry, history, report);
    if (!history.isReached(entry)) continue;
    report.begin(entry, history.isOwn(entry));
    const { action } = entry['audit'];
    const recomputeOne = BY_ACTION.get(action);
    if (recomputeOne === undefined) report.differ(`${action} is not known to this verifier`);
    else if (expectUnchanged(entry, history, report)) recomputeOne(entry, history, report);
  }
  report.note(`Only attested by the log, not recomputed: ${attestedIn(file.entries).join(', ')}.`);
  for (const { sequence, action, subjectId } of history.strangers)
    report.differ(`${action} of ${subjectId} is nothing that this decision rests on`, sequence);
  return { outcome: String(history.ofExecution.at(-1)?.['state']?.outcome), report, history };
}

/** @param {Recompute} recomputeOne */
function with_(recomputeOne) {
  return (/** @type {string} */ action) => /** @type {const} */ ([action, recomputeOne]);
}

/**
 * A member that this verifier does not know could have decided something.
 * @param {Json} entry
 * @param {Report} report
 */
function expectKnown({ sequence, subjectType, state }, report) {
  const { members = [], later = {} } = KINDS[subjectType] ?? {};
  const unknown = Object.keys(state).find((name) => !members.includes(name) && !Object.hasOwn(later, name));
  if (unknown !== undefined)
    report.differ(`the ${subjectType} has a member ${unknown} that this verifier does not know`, sequence);
  if (state.erased !== undefined) report.differ(`the ${subjectType} says that it was erased, and is here`, sequence);
}

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 * @returns {boolean} whether there is a state to go on from
 */
function expectUnchanged({ sequence, subjectType, subjectId, state, audit }, history, report) {
  const before = history.stateBefore(history.entriesAbout(subjectType, subjectId), sequence);
  if (BEGINNINGS.includes(audit.action)) {
    if (before !== undefined) report.differ(`${audit.action} is not the first entry of its ${subjectType}`, sequence);
    return before === undefined;
  }
  if (before === undefined) {
    report.lack(`the file has no entry that began this ${subjectType}, ${subjectId}`);
    return false;
  }
  const mayChange = CHANGED[audit.action] ?? [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(state)])) {
    if (!mayChange.includes(name))
      report.expect(`${name}, which this entry does not change,`, state[name], before[name], sequence);
  }
  return true;
}

/**
 * @param {readonly Json[]} entries
 * @param {Report} report
 */
function expectForwardTime(entries, report) {
  for (const [index, { sequence, timestamp }] of entries.entries()) {
    if (timestamp < String(entries[index - 1]?.['timestamp'] ?? ''))
      report.differ(`the time of entry ${sequence} is before that of the entry before it`);
  }
}
