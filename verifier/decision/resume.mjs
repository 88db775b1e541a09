import { areFilled } from '../evaluation/matching.mjs';
import { approvalKey } from '../evaluation/requirement.mjs';
import { denialOf } from './delegations.mjs';
import { expectAuthorized, expectPolicies, recomputeVerdict } from './requests.mjs';
import { agentText, quoted, requirementText } from './narration.mjs';
import { expectRepeated, UNKNOWN } from './repeating.mjs';
import { groupsFilled, groupsMet, placeOf } from './reviewer.mjs';
import { approvalsIn, reviewedResource } from './review.mjs';

/**
 * Checks whether an approved execution could be resumed when it was.
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
  expectRepeated(entry, isDenied || state.via !== undefined, history, report);
  // A module is asked before the approvals are counted.
  const isByModule = isDenied && audit.reason === 'extension_refused';
  const approval = isByModule ? null : verdict.approval;
  if (approval === null) report.expect('details.approvers', audit.details.approvers ?? [], []);
  const isFilled = approval === null || isFilledBy(approval.approvers, entry, history, report);
  const reason = isFilled ? (verdict.effect === 'deny' ? verdict.reason : null) : 'approval_insufficient';
  if (!isDenied) {
    report.expect('the reason', null, reason);
    expectPolicies(entry, verdict, report);
    expectAuthorized(state, verdict, report);
    return report.say('So it was authorized, and the approval was used up.');
  }
  if (isByModule && reason === null)
    return report.say('The policies let it through; a module of the operator refused it, which no file can show.');
  if (audit.reason === UNKNOWN && reason === null)
    return report.say('So it was refused: it may have taken effect already. The approval stayed as it was.');
  report.expect('the reason', audit.reason, reason);
  report.say(`So it was refused: ${quoted(audit.reason)}. The approval stayed as it was.`);
}

/**
 * True if the approvals fill the groups: a group that the decision had by the recorded reviews, a new one by the
 * reviewers' present state. A review by a delegation counts only if the person in whose place it was could still
 * approve.
 * @param {readonly Group[]} groups
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
function isFilledBy(groups, { audit, state, sequence, timestamp }, history, report) {
  const decision = history.stateBefore(history.entriesAbout('decision', state.decisionId), sequence);
  if (decision === undefined) {
    report.lack('the file has no entry of the decision');
    return undefined;
  }
  report.say(`Still required: ${requirementText(groups)}.`);
  const approvalKeys = (decision['approvers'] ?? []).map(approvalKey);
  const revisions = new Map(
    (audit.details.approvers ?? []).map((/** @type {Json} */ { agentId, revision }) => [agentId, revision]),
  );
  const approvals = approvalsIn(decision);
  report.expect(
    'details.approvers',
    [...revisions.keys()],
    approvals.map((review) => placeOf(review, history)),
  );
  const request = { action: 'decision:approve', ...reviewedResource(decision), time: new Date(timestamp) };
  const policies = history.rules(audit.details.rules)?.policies ?? [];
  const reviewers = approvals.map((review) => {
    const { groups: filledGroups, delegationId } = review;
    const approverId = placeOf(review, history);
    const reviewer = history.agent(approverId, revisions.get(approverId), sequence);
    if (reviewer === undefined) {
      report.lack(
        `the file has no entry of the approver ${approverId} at revision ${String(revisions.get(approverId))}`,
      );
      return [];
    }
    const isDelegated = delegationId !== undefined;
    if (reviewer['status'] !== 'active' || (isDelegated && denialOf([reviewer], request, policies) !== undefined)) {
      report.say(`The approval of ${agentText(reviewer)} does not count.`);
      return [];
    }
    const now = groupsFilled(groups, reviewer, review, history.validSignatures);
    const met = isDelegated ? groupsMet(decision['approvers'] ?? [], reviewer) : filledGroups;
    return groups.flatMap((group, index) => {
      const place = approvalKeys.indexOf(approvalKey(group));
      const isStillFilled = filledGroups.includes(place) && met.includes(place);
      return (place === -1 ? now.includes(index) : isStillFilled) ? [index] : [];
    });
  });
  return areFilled(groups, reviewers);
}
