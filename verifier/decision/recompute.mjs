import { agentNameFault } from '../agent-name.mjs';
import { isErased } from '../entry-check.mjs';
import { formOf } from '../hashed-forms.mjs';
import { changeableMembers, constantMembers, recordAction } from '../record-actions.mjs';
import { recomputeRequest } from './requests.mjs';
import { attestedIn } from './attested.mjs';
import { expectAuditForm } from './audit-form.mjs';
import { outcomeOfChange, recomputeMade, recomputeMaking } from './changes.mjs';
import { FileHistory } from './history.mjs';
import { withAnyForm } from './malformed.mjs';
import { OpenRequests } from './open-requests.mjs';
import { EVALUATIONS } from './read-file.mjs';
import { Report } from './report.mjs';
import { recomputeResume } from './resume.mjs';
import { DELEGATING, recomputeDelegation } from './delegations.mjs';
import { GRANTING, recomputeGrant } from './grants.mjs';
import { recomputeReview } from './review.mjs';
import { recomputeSettling, SETTLING } from './settlement.mjs';
import { recomputeStanding } from './standing-approvals.mjs';

/**
 * Recomputes the decisions that a file records, entry by entry. Its seals must have been checked.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {(entry: Json, history: History, report: Report) => void} Recompute
 */

/** @type {ReadonlyMap<string, Recompute>} */
const BY_ACTION = new Map([
  ...['execution.authorized', 'execution.denied', 'execution.approval_requested'].map(with_(recomputeRequest)),
  ...['decision.reviewed', 'decision.approved', 'decision.rejected'].map(with_(recomputeReview)),
  ...['execution.resumed', 'execution.resume_denied'].map(with_(recomputeResume)),
  ...['decision.change_made'].map(with_(recomputeMadeChange)),
  ...SETTLING.map(with_(recomputeSettling)),
  ...GRANTING.map(with_(recomputeGrant)),
  ...DELEGATING.map(with_(recomputeDelegation)),
]);

/**
 * @param {import('./read-file.mjs').DecisionFile} file
 * @param {ReadonlySet<string>} validSignatures the signatures that the keys of their passkeys made
 * @returns {{ outcome: string, report: Report, history: FileHistory }}
 */
export function recompute(file, validSignatures) {
  const [history, report] = [new FileHistory(file, validSignatures), new Report()];
  if (history.ofSubject.length === 0)
    report.differ(`the file has no entry of ${file.executionId ?? file.decisionId}, which it is about`);
  if (history.changeId !== null && history.ofSubject.some(({ state }) => state.change === undefined))
    report.differ(`the decision ${history.changeId} is about no change`);
  expectForward(file, report);
  expectOneVersion(file, report);
  const openRequests = new OpenRequests();
  for (const entry of file.entries) {
    const { sequence } = entry;
    withAnyForm(
      () => recomputeEntry(entry, history, report),
      (fault) => report.differ(fault, sequence),
    );
    const faults = withAnyForm(
      () => openRequests.faults(entry, entry['state']),
      (fault) => [fault],
    );
    for (const fault of faults) report.differ(fault, sequence);
  }
  report.note(`Only attested by the log, not recomputed: ${attestedIn(file.entries).join(', ')}.`);
  for (const { sequence, action, subjectId } of history.strangers)
    report.differ(`${action} of ${subjectId} is nothing that this decision rests on`, sequence);
  const last = history.ofSubject.at(-1)?.['state'] ?? {};
  return { outcome: String(history.changeId === null ? last.outcome : outcomeOfChange(last)), report, history };
}

/** @type {Recompute} */
function recomputeMadeChange(entry, history, report) {
  recomputeStanding(entry, history, report);
  recomputeMaking(entry, history, report);
}

/**
 * @param {Json} entry
 * @param {FileHistory} history
 * @param {Report} report
 */
function recomputeEntry(entry, history, report) {
  expectKnown(entry, history, report);
  expectAuditForm(entry, history, report);
  if (history.isMade(entry)) recomputeMade(entry, history, report);
  else if (isErased(entry)) report.differ(`the entry ${entry['sequence']} was erased`);
  else if (entry['subjectType'] === 'stop') expectUnchanged(entry, history, report);
  if (!isErased(entry)) expectConstant(entry, history, report);
  if (entry['subjectType'] === 'agent') expectName(entry, report);
  if (!history.isReached(entry) || isErased(entry)) return;
  report.begin(entry, history.isOwn(entry));
  recomputeRecord(entry, history, report);
}

/**
 * Recomputes an entry about an execution, a decision, a grant or a delegation from the entries before it.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function recomputeRecord(entry, history, report) {
  const { action } = entry['audit'];
  const recomputeOne = BY_ACTION.get(action);
  if (recomputeOne === undefined) report.differ(`${action} is not known to this verifier`);
  else if (expectUnchanged(entry, history, report)) recomputeOne(entry, history, report);
}

/** @param {Recompute} recomputeOne */
function with_(recomputeOne) {
  return (/** @type {string} */ action) => /** @type {const} */ ([action, recomputeOne]);
}

/**
 * A member that this verifier does not know could have decided something. A change may make records of modules, and
 * erase others.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function expectKnown(entry, history, report) {
  const { sequence, subjectType, subjectId, state } = entry;
  const form = formOf(subjectType);
  if (state === null || (history.isMade(entry) && form === undefined)) return;
  const { members = [], later = {} } = form ?? {};
  const unknown = Object.keys(state).find((name) => !members.includes(name) && !Object.hasOwn(later, name));
  if (unknown !== undefined)
    report.differ(`the ${subjectType} has a member ${unknown} that this verifier does not know`, sequence);
  if (state.erased === undefined || history.isMade(entry)) return;
  // What ran when a backup was made is erased again before it is marked as interrupted.
  const before = history.stateBefore(history.entriesAbout(subjectType, subjectId), sequence);
  if (before?.['erased'] !== true) report.differ(`the ${subjectType} says that it was erased, and is here`, sequence);
}

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 * @returns {boolean} whether there is a state to go on from
 */
function expectUnchanged(entry, history, report) {
  const { sequence, subjectType, subjectId, audit } = entry;
  const before = history.stateBefore(history.entriesAbout(subjectType, subjectId), sequence);
  if (recordAction(entry).begins === true) {
    if (before !== undefined) report.differ(`${audit.action} is not the first entry of its ${subjectType}`, sequence);
    return before === undefined;
  }
  if (before === undefined) {
    report.lack(`the file has no entry that began this ${subjectType}, ${subjectId}`);
    return false;
  }
  expectOthersKept(entry, before, history, report);
  return true;
}

/**
 * Checks the members that an entry does not change.
 * @param {Json} entry
 * @param {Json} before the state of its record before it
 * @param {Pick<History, 'forgottenMembers'>} history
 * @param {Report} report
 */
export function expectOthersKept(entry, before, history, report) {
  const { sequence, state } = entry;
  const mayChange = [...changeableMembers(entry), ...history.forgottenMembers];
  for (const name of new Set([...Object.keys(before), ...Object.keys(state)])) {
    if (!mayChange.includes(name))
      report.expect(`${name}, which this entry does not change,`, state[name], before[name], sequence);
  }
}

/**
 * Checks the members that no action changes against the entry before, which need not be the last one: a file has not
 * all entries of an agent.
 * @param {Json} entry
 * @param {FileHistory} history
 * @param {Report} report
 */
function expectConstant({ sequence, subjectType, subjectId, state }, history, report) {
  const before = history.stateBefore(history.entriesAbout(subjectType, subjectId), sequence);
  if (!before || state === null || history.isReached({ subjectType, subjectId })) return;
  for (const name of constantMembers(subjectType, { ...before, ...state }))
    report.expect(`${name}, which never changes,`, state[name], before[name], sequence);
}

/**
 * @param {Json} entry of an agent, which an older version may have made
 * @param {Report} report
 */
function expectName({ action, state, sequence, v }, report) {
  const isOld = v === 1 || action !== 'agent.created';
  const fault = state === null ? undefined : agentNameFault(state.name, isOld);
  if (fault !== undefined) report.differ(`the name ${JSON.stringify(state.name)} of the agent ${fault}`, sequence);
}

/**
 * Checks that rules have each policy in one version only.
 * @param {import('./read-file.mjs').DecisionFile} file
 * @param {Report} report
 */
function expectOneVersion({ rules, policies }, report) {
  const names = new Map(policies.map(({ id, name }) => [id, name]));
  for (const { hash, policies: ids } of rules) {
    const before = new Set();
    const double = ids.map((id) => names.get(id)).find((name) => before.size === before.add(name).size);
    if (double !== undefined)
      report.differ(`the rules ${hash} have more than one version of ${JSON.stringify(double)}`);
  }
}

/**
 * Checks that neither the time nor the version of the sealed form nor that of the rules of evaluation goes back.
 * @param {import('./read-file.mjs').DecisionFile} file
 * @param {Report} report
 */
function expectForward({ entries, rules }, report) {
  const evaluations = new Map(rules.map(({ hash, evaluation }) => [hash, evaluation]));
  let [time, version, newest] = ['', 0, 0];
  for (const entry of entries) {
    const { sequence, timestamp, v } = entry;
    const evaluation = evaluations.get(rulesOf(entry)) ?? newest;
    if (timestamp < time) report.differ(`the time of entry ${sequence} is before that of the entry before it`);
    if (v < version) report.differ(`the entry ${sequence} is of version ${v}, and one before it of ${version}`);
    if (evaluation < newest)
      report.differ(
        `the rules of entry ${sequence} are of the evaluation ${evaluation}, and those before of ${newest}`,
      );
    [time, version, newest] = [timestamp, v, evaluation];
  }
  const current = Math.max(...EVALUATIONS);
  const older = [...new Set(evaluations.values())].filter((evaluation) => evaluation < current).sort();
  if (older.length > 0)
    report.note(
      `Rules of the evaluation ${older.join(' and ')} decided, which is not the current one, ${current}: that the service was of an older version rests on the operator’s word.`,
    );
}

/**
 * Returns the hash of the rules in force that an entry names.
 * @param {Json} entry
 * @returns {string}
 */
function rulesOf({ audit }) {
  return String(audit.details?.rules);
}
