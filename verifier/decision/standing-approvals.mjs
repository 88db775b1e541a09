import { areFilled } from '../evaluation/matching.mjs';
import { denialOf } from './delegations.mjs';
import { approvalsIn, reviewedResource } from './review.mjs';
import { placeOf } from './reviewer.mjs';

/**
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

/**
 * Checks that enough of those who had approved a change were active when it was made, and that no policy denied the
 * approval of a person in whose place another one had given it.
 * @param {Json} entry `decision.change_made`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeStanding({ audit, subjectId, sequence, timestamp }, history, report) {
  const { approvers, firstSequence } = audit.details;
  const before = history.stateBefore(history.entriesAbout('decision', subjectId), sequence);
  if (before === undefined) return;
  if (!Array.isArray(approvers)) {
    report.differ('the entry that made the change does not name those who had approved it');
    return;
  }
  const approvals = approvalsIn(before);
  const places = approvals.map((review) => placeOf(review, history));
  report.expect(
    'details.approvers',
    approvers.map((/** @type {Json} */ { agentId }) => agentId),
    places,
  );
  const request = { action: 'decision:approve', ...reviewedResource(before), time: new Date(timestamp) };
  const policies = history.rules(before['change']?.rules)?.policies ?? history.policies;
  let hasDenied = false;
  const standing = approvals.map(({ groups = [], delegationId }, index) => {
    const { agentId, revision } = approvers[index] ?? {};
    // The change itself may have changed an approver.
    const approver = history.agent(agentId, revision, firstSequence);
    if (approver === undefined) report.lack(`the file has no entry of the approver ${agentId} at revision ${revision}`);
    const isDelegated = delegationId !== undefined && approver !== undefined;
    const isDenied = isDelegated && denialOf([approver], request, policies) !== undefined;
    hasDenied ||= isDenied;
    return approver?.['status'] === 'active' && !isDenied ? groups : [];
  });
  if (!areFilled(before['approvers'] ?? [], standing))
    report.differ(
      `the change was made while somebody who had approved it was suspended${hasDenied ? ', or a policy denied the approval' : ''}`,
    );
}
