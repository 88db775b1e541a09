import { areFilled } from '../evaluation/matching.mjs';
import { approvalKey } from '../evaluation/requirement.mjs';
import { expectAuthorized, expectPolicies, recomputeVerdict } from './requests.mjs';
import { described, named, required } from './narration.mjs';
import { groupsFilled } from './reviewer.mjs';
import { approvalsIn } from './review.mjs';

/**
 * Whether an approval could be taken up when it was.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/requirement.mjs').Group} Group
 */

/**
 * @param {Json} entry `execution.resumed` or `resume_denied`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeResume(entry, history, report) {
  const { state, audit, sequence, timestamp } = entry;
  const before = history.stateBefore(history.entriesAbout('execution', entry['subjectId']), sequence);
  const isDenied = audit.action === 'execution.resume_denied';
  if (!isDenied) report.expect('the outcome before', before?.['outcome'], 'approved');
  if (before?.['outcome'] === 'approved' && timestamp >= String(state.approvedUntil))
    report.differ(`the resume came at ${timestamp}, when the approval had ended at ${state.approvedUntil}`);
  const verdict = recomputeVerdict(entry, history, report, 'took the approval up');
  if (verdict === undefined) return;
  if (verdict.approval === null) report.expect('details.approvers', audit.details.approvers ?? [], []);
  const isFilled = verdict.approval === null || isFilledBy(verdict.approval.approvers, entry, history, report);
  const reason = isFilled ? (verdict.effect === 'deny' ? verdict.reason : null) : 'approval_insufficient';
  if (!isDenied) {
    report.expect('the reason', null, reason);
    expectPolicies(entry, verdict, report);
    expectAuthorized(state, verdict, report);
    return report.say('So it was authorized, and the approval was used up.');
  }
  if (audit.reason === 'extension_refused' && reason === null)
    return report.say('The policies let it through; a module of the operator refused it, which no file can show.');
  report.expect('the reason', audit.reason, reason);
  report.say(`So it was refused: ${named(audit.reason)}. The approval stayed as it was.`);
}

/**
 * A group that the decision had is filled by who could fill it then, any other one by what the reviewers are now.
 * @param {readonly Group[]} groups
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
function isFilledBy(groups, { audit, state, sequence }, history, report) {
  const decision = history.stateBefore(history.entriesAbout('decision', state.decisionId), sequence);
  if (decision === undefined) {
    report.lack('the file has no entry of the decision');
    return undefined;
  }
  report.say(`Still required: ${required(groups)}.`);
  const kept = (decision['approvers'] ?? []).map(approvalKey);
  const revisions = new Map(
    (audit.details.approvers ?? []).map((/** @type {Json} */ { agentId, revision }) => [agentId, revision]),
  );
  const approvals = approvalsIn(decision);
  report.expect(
    'details.approvers',
    [...revisions.keys()],
    approvals.map(({ approverId }) => approverId),
  );
  const reviewers = approvals.map((review) => {
    const { approverId, groups: filled } = review;
    const reviewer = history.agent(approverId, revisions.get(approverId), sequence);
    if (reviewer === undefined) {
      report.lack(
        `the file has no entry of the approver ${approverId} at revision ${String(revisions.get(approverId))}`,
      );
      return [];
    }
    if (reviewer['status'] !== 'active') {
      report.say(`The approval of ${described(reviewer)} does not count.`);
      return [];
    }
    const now = groupsFilled(groups, reviewer, review, history.made);
    return groups.flatMap((group, index) => {
      const place = kept.indexOf(approvalKey(group));
      return (place === -1 ? now.includes(index) : filled.includes(place)) ? [index] : [];
    });
  });
  return areFilled(groups, reviewers);
}
