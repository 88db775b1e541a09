import { hashOf } from '../canonical-json.mjs';
import { evaluateReview } from '../evaluation/evaluate.mjs';
import { areFilled } from '../evaluation/matching.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';
import { matchesResource } from '../evaluation/resources.mjs';
import { isFewer, times } from './grant-terms.mjs';
import { agentText, requirementText } from './narration.mjs';
import { asAgent, groupsFilled, placeOf, withEscalationsOf } from './reviewer.mjs';
import { reviewedResource } from './review.mjs';

/**
 * Checks whether a grant could authorise its execution: it must cover it, and its reviewers must have been able to give
 * it that day.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/evaluate.mjs').Verdict} Verdict
 * @typedef {import('../evaluation/requirement.mjs').Allowance} Allowance
 * @typedef {{ agentId: string, decisionId: string, action: string, resourceType: string, resourceId: string,
 * resources: readonly string[] | null, parametersHash: string | null, onBehalfOf: string | null, until: string,
 * uses: number | null, status: string, createdAt: string }} Grant
 */

/**
 * @param {Json} entry `execution.authorized`
 * @param {Verdict} verdict of the policies
 * @param {History} history
 * @param {Report} report
 * @returns {boolean} true if the entry names a grant
 */
export function recomputeGranted(entry, verdict, history, report) {
  const { state, audit, sequence } = entry;
  report.expect('details.grantId', audit.details.grantId, state.grantId);
  if (state.grantId === undefined) return false;
  report.expect('the effect', 'require_approval', verdict.effect);
  if (history.isLost('grant', state.grantId)) return true;
  /** @type {any} */
  const grantState = history.stateBefore(history.entriesAbout('grant', state.grantId), sequence);
  const grant = /** @type {Grant | undefined} */ (grantState);
  const decision = grant && history.stateBefore(history.entriesAbout('decision', grant.decisionId), sequence);
  if (grant === undefined || decision === undefined) {
    report.lack(`the file has no entry of the grant ${state.grantId} and its decision before it`);
    return true;
  }
  report.say(`The grant ${state.grantId} of ${grant.createdAt} was good for ${extent(grant)}, until ${grant.until}.`);
  expectFor(entry, grant, report);
  expectToday(entry, { grant, decision, approval: verdict.approval }, history, report);
  return true;
}

/**
 * @param {Json} entry
 * @param {Grant} grant
 * @param {Report} report
 */
function expectFor({ state, timestamp }, grant, report) {
  for (const name of ['agentId', 'action', 'resourceType'])
    report.expect(`the ${name} that the grant is for`, grant[/** @type {'action'} */ (name)], state[name]);
  report.expect('on whose behalf the grant is', grant.onBehalfOf, state.onBehalfOf?.subject ?? null);
  const { resourceType, resourceId } = state;
  const pattern = { effect: 'allow', resources: [...(grant.resources ?? [])], resourceTypes: [resourceType] };
  const isMet =
    grant.resources === null ? grant.resourceId === resourceId : matchesResource(pattern, { resourceType, resourceId });
  if (!isMet) report.differ('the grant is not for this resource');
  if (grant.parametersHash !== null)
    report.expect('the parameters of the grant', grant.parametersHash, hashOf(state.parameters));
  report.expect('the status of the grant', grant.status, 'active');
  if (timestamp >= grant.until) report.differ(`the grant had ended at ${grant.until}`);
}

/**
 * Checks that the reviewers of the grant, as they were when it served, met what was required then.
 * @param {Json} entry
 * @param {{ grant: Grant, decision: Json, approval: Verdict['approval'] }} given
 * @param {History} history
 * @param {Report} report
 */
function expectToday({ audit, sequence, timestamp }, { grant, decision, approval }, history, report) {
  const rules = history.rules(audit.details.rules);
  if (approval === null || rules === undefined) return;
  const isRejection = decision['status'] === 'rejected';
  if (!isRejection && !isAllowedToday(grant, approval.grant, timestamp))
    report.differ('the policies then in force allowed no such grant');
  // Policies may require another risk by then than when the grant was given.
  const reviewed = reviewedResource({ riskLevel: approval.riskLevel, type: decision['type'] });
  const request = { action: 'decision:approve', ...reviewed, time: new Date(timestamp) };
  const revisions = new Map(
    (audit.details.approvers ?? []).map((/** @type {Json} */ approver) => [approver['agentId'], approver['revision']]),
  );
  const verdict = isRejection ? 'reject' : 'approve';
  const grantingReviews = decision['reviews'].filter((/** @type {Json} */ review) => review['verdict'] === verdict);
  report.expect(
    'whose reviews counted',
    [...revisions.keys()],
    grantingReviews.map((/** @type {Json} */ review) => placeOf(review, history)),
  );
  const groups = withEscalationsOf(approval.approvers, decision['approvers'] ?? []);
  const filledGroups = grantingReviews.map((/** @type {Json} */ review) => {
    const approverId = placeOf(review, history);
    const reviewer = history.agent(approverId, revisions.get(approverId), sequence);
    if (reviewer === undefined) {
      report.lack(
        `the file has no entry of the approver ${approverId} at revision ${String(revisions.get(approverId))}`,
      );
      return [];
    }
    const isDenied = evaluateReview(asAgent(/** @type {any} */ (reviewer)), request, rules.policies).effect === 'deny';
    const counts = reviewer['status'] === 'active' && !isDenied;
    report.say(`${agentText(reviewer)} ${counts ? 'gave it' : 'gave it, and did not count any more'}.`);
    return counts ? groupsFilled(groups, reviewer, review, history.validSignatures) : [];
  });
  if (!areFilled(approval.approvers, filledGroups)) report.differ('its reviewers could not approve this any more');
  else report.say(`What was required then, ${requirementText(approval.approvers)}, they could still approve.`);
}

/**
 * @param {Grant} grant
 * @param {Allowance | undefined} allowance
 * @param {string} timestamp
 */
function isAllowedToday({ createdAt, uses, resources, parametersHash }, allowance, timestamp) {
  if (allowance === undefined) return false;
  const isOld = Date.parse(timestamp) - Date.parse(createdAt) > milliseconds(allowance.for);
  const isWider = resources !== null || parametersHash === null;
  return !isOld && isFewer(uses, allowance.uses) && (allowance.wider || !isWider);
}

/** @param {Grant} grant */
function extent({ action, resourceType, resourceId, resources, parametersHash, uses }) {
  const resourceText = resources === null ? resourceId : resources.join(', ');
  return `${action} on ${resourceType} ${JSON.stringify(resourceText)} with ${parametersHash === null ? 'any' : 'these'} parameters, ${times(uses)}`;
}
