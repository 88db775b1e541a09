import { areFilled } from '../evaluation/matching.mjs';
import { termsText, isWithinAllowance } from './grant-terms.mjs';
import { alternativesText, agentText, listText, quoted, OPERATOR, senderText } from './narration.mjs';
import { expectMayDecide, isEmergency } from './changes.mjs';
import { denialOf, placeOfReview } from './delegations.mjs';
import { escalatingGroups } from './escalations.mjs';
import { groupsFilled, groupsMet, placeOf } from './reviewer.mjs';
import { recomputeSignature } from './signatures.mjs';

/**
 * Recomputes reviews: who approved or rejected a decision, for which groups, and whether that settled it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

/**
 * @param {Json} entry `decision.reviewed`, `approved` or `rejected`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeReview(entry, history, report) {
  const { state, audit, sequence, timestamp } = entry;
  const before = history.stateBefore(history.entriesAbout('decision', entry['subjectId']), sequence);
  const review = state.reviews.at(-1);
  if (before === undefined || review === undefined) return report.differ('the decision has no review');
  report.expect('the earlier reviews', state.reviews.slice(0, -1), before['reviews']);
  report.expect('the status before', before['status'], 'proposed');
  if (timestamp >= String(state.expiresAt)) report.differ(`the review came at ${timestamp}, after ${state.expiresAt}`);
  report.expect('the time of the review', review.createdAt, timestamp);
  report.expect('the reviewer', audit.agentId, review.approverId);
  report.expect('details.verdict', audit.details.verdict, review.verdict);
  const late = escalatingGroups(before, timestamp);
  if (late.length > 0) report.differ(`the groups ${late.join(', ')} had to escalate before this review`);
  recomputeReviewer(entry, review, history, report);
  recomputeSettled(entry, report);
}

/**
 * @param {Json} entry
 * @param {Json} review
 * @param {History} history
 * @param {Report} report
 */
function recomputeReviewer(entry, review, history, report) {
  const { state, audit, sequence, timestamp } = entry;
  const { approverId, verdict } = review;
  const words = review['comment'] === null ? '' : `, with the words ${JSON.stringify(review['comment'])}`;
  const members = ['approverId', 'comment', 'createdAt', 'delegationId', 'grant', 'groups', 'signature', 'verdict'];
  const unknown = Object.keys(review).find((name) => !members.includes(name));
  if (unknown !== undefined) report.differ(`the review has a member ${unknown} that this verifier does not know`);
  if (!['approve', 'reject'].includes(verdict)) report.differ(`the verdict ${JSON.stringify(verdict)} is not known`);
  if (approverId === null) {
    report.expect('details.approverRevision', audit.details.approverRevision, null);
    report.expect('the verdict of a review without a reviewer', verdict, 'reject');
    report.expect('the groups of a review without a reviewer', review['groups'] ?? [], []);
    report.expect('the delegation of a review without a reviewer', review['delegationId'], undefined);
    report.expect('details.delegator', audit.details.delegator, undefined);
    expectMayDecide(entry, review, [], history, report);
    if (audit.actor.type === 'slack') report.differ('a review in Slack names no reviewer');
    return report.say(`The holder of ${senderText(audit.actor)} rejected it${words}.`);
  }
  const reviewer = history.agent(approverId, audit.details.approverRevision, sequence);
  if (reviewer === undefined)
    return report.lack(
      `the file has no entry of the agent ${approverId} at revision ${audit.details.approverRevision}`,
    );
  const place = placeOfReview(entry, review, reviewer, history, report);
  if (place === undefined) return undefined;
  const met = groupsMet(state.approvers ?? [], place);
  const groups =
    verdict === 'approve' ? groupsFilled(state.approvers ?? [], place, review, history.validSignatures) : met;
  const isProposer = place['id'] === state.proposedBy;
  if (isProposer && verdict === 'approve' && state.executionId !== undefined)
    report.differ('the agent approved its own execution');
  const earlier = /** @type {Json[]} */ (state.reviews.slice(0, -1));
  if (earlier.some((one) => one['approverId'] === approverId)) report.differ(`${approverId} reviewed it twice`);
  if (earlier.some((one) => placeOf(one, history) === place['id']))
    report.differ(`it was reviewed twice in the place of ${place['id']}`);
  report.expect('the status of the reviewer', reviewer['status'], 'active');
  expectMayDecide(entry, review, place === reviewer ? [place] : [place, reviewer], history, report);
  if (state.approvers !== undefined) {
    report.expect('the groups of the review', review['groups'], groups);
    // The requester may withdraw the request.
    if (met.length === 0 && !(isProposer && verdict === 'reject' && !isEmergency(state)))
      report.differ(`${place['id']} is in none of the groups that the decision names`);
    else if (groups.length < met.length && groups.length === 0)
      report.differ(`${approverId} gave no signature, which each of its groups needs`);
  }
  const as = groups.map((group) => alternativesText(state.approvers[group].subjects));
  report.say(
    `${agentText(reviewer)} ${verdict === 'approve' ? 'approved' : 'rejected'} it${as.length === 0 ? '' : ` as ${listText(as)}`}${words}. It was sent with ${senderText(audit.actor)}.`,
  );
  if (audit.actor.type === 'slack') expectMayReviewInSlack(audit.actor, review, reviewer, report);
  if (review['grant'] !== undefined) expectGrantTerms(state, review, report);
  if (review['signature'] !== undefined) {
    report.expect('the kind of the agent who signed', reviewer['kind'] ?? 'machine', 'human');
    recomputeSignature(entry, review, history, report);
  }
  if (audit.actor.id === OPERATOR)
    report.note(`The review of entry ${sequence} was sent with the operator’s key, which can name any reviewer.`);
  expectAllowed(
    { state, audit, timestamp },
    place === reviewer ? [place] : [place, reviewer],
    verdict,
    history,
    report,
  );
  return undefined;
}

/**
 * Checks a review by a button in Slack: the person whom Slack named approves or rejects, and gives nothing else.
 * @param {Json} actor
 * @param {Json} review
 * @param {Json} reviewer
 * @param {Report} report
 */
function expectMayReviewInSlack({ id }, review, { slackId }, report) {
  report.expect('the Slack id of the reviewer', slackId, id);
  for (const name of ['signature', 'grant', 'delegationId'])
    if (review[name] !== undefined) report.differ(`a review in Slack has a ${name}`);
}

/**
 * @param {Json} decision
 * @param {Json} review that gives more than this action
 * @param {Report} report
 */
function expectGrantTerms({ grant: allowance }, { verdict, grant }, report) {
  report.say(`With it came a grant: ${termsText(grant)}.`);
  if (verdict !== 'approve') report.differ('a rejection gives no grant');
  if (allowance === undefined || !isWithinAllowance(grant, allowance))
    report.differ('the decision does not allow such a grant');
}

/**
 * @param {{ state: Json, audit: Json, timestamp: string }} entry
 * @param {readonly Json[]} reviewers the reviewer and, by a delegation, the person in whose place it was
 * @param {string} verdict
 * @param {History} history
 * @param {Report} report
 */
function expectAllowed({ state, audit, timestamp }, reviewers, verdict, history, report) {
  const rules = history.rules(audit['details'].rules);
  if (rules === undefined) return report.lack('the file does not have the rules that were in force');
  const request = { action: `decision:${verdict}`, ...reviewedResource(state), time: new Date(timestamp) };
  const denial = denialOf(reviewers, request, rules.policies);
  if (denial !== undefined) report.differ(`the policy ${quoted(denial.policies[0]?.name)} denies this review`);
  else
    report.say(
      `None of the ${rules.policies.length} policies in force denies ${request.action} on ${quoted(request.resourceId)}.`,
    );
}

/**
 * Returns the resource that a policy names to deny reviews of a decision.
 * @param {Readonly<Record<string, any>>} decision
 */
export function reviewedResource({ riskLevel, type }) {
  const segment = ['.', '..'].includes(type) ? '_' : type.replaceAll('/', '_');
  return { resourceType: 'decision', resourceId: `decisions/${riskLevel}/${segment}` };
}

/**
 * @param {Json} entry
 * @param {Report} report
 */
function recomputeSettled({ state, audit, timestamp }, report) {
  const isReview = isEmergency(state);
  // Nobody settles an emergency alone, not even by a rejection.
  const approvals = isReview ? state.reviews : approvalsIn(state);
  const isFull =
    state.approvers === undefined
      ? approvals.length >= state.requiredApprovals
      : areFilled(
          state.approvers,
          approvals.map((/** @type {Json} */ { groups }) => groups ?? []),
        );
  const isRejected = approvalsIn(state).length < state.reviews.length && (isFull || !isReview);
  const status = isRejected ? 'rejected' : isFull ? 'approved' : 'proposed';
  report.expect('the status', state.status, status);
  report.expect('the action', audit.action, `decision.${status === 'proposed' ? 'reviewed' : status}`);
  report.expect('resolvedAt', state.resolvedAt, status === 'proposed' ? null : timestamp);
  if (status === 'proposed')
    report.say(
      `Not every group was filled by then: ${approvals.length} of ${state.requiredApprovals} ${isReview ? 'reviews' : 'approvals'}.`,
    );
  else
    report.say(
      status === 'approved'
        ? 'With that every group was filled by different reviewers: approved.'
        : 'So it was rejected.',
    );
}

/**
 * @param {Json} decision
 * @returns {Json[]}
 */
export function approvalsIn({ reviews }) {
  return reviews.filter((/** @type {Json} */ { verdict }) => verdict === 'approve');
}
