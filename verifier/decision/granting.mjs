import { hashOf } from '../canonical-json.mjs';
import { evaluateReview } from '../evaluation/evaluate.mjs';
import { areFilled } from '../evaluation/matching.mjs';
import { approvalsOf, milliseconds } from '../evaluation/requirement.mjs';
import { isResourceMet } from '../evaluation/resources.mjs';
import { described, required } from './narration.mjs';
import { asAgent, groupsFilled } from './reviewer.mjs';

/**
 * Whether a grant could authorise what it did: as its reviewers gave it, for this, and as they could give it that day.
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
 * @returns {boolean} whether it names a grant
 */
export function recomputeGranted(entry, verdict, history, report) {
  const { state, audit, sequence } = entry;
  report.expect('details.grantId', audit.details.grantId, state.grantId);
  if (state.grantId === undefined) return false;
  report.expect('the effect', 'require_approval', verdict.effect);
  /** @type {any} */
  const found = history.stateBefore(history.of('grant', state.grantId), sequence);
  const grant = /** @type {Grant | undefined} */ (found);
  const decision = grant && history.stateBefore(history.of('decision', grant.decisionId), sequence);
  if (grant === undefined || decision === undefined) {
    report.differ(`the file has no entry of the grant ${state.grantId} and its decision before it`);
    return true;
  }
  report.say(`The grant ${state.grantId} of ${grant.createdAt} was good for ${extent(grant)}, until ${grant.until}.`);
  expectMade(grant, decision, report);
  expectFor(entry, grant, report);
  expectToday(entry, { grant, decision, approval: verdict.approval }, history, report);
  return true;
}

/**
 * It is what all reviewers gave alike, or what a single one would approve in place of what was asked for.
 * @param {Grant} grant
 * @param {Json} decision
 * @param {Report} report
 */
function expectMade(grant, decision, report) {
  const { reviews, executeWithin, approvers = [] } = decision;
  report.expect('the time of the grant', grant.createdAt, decision['resolvedAt']);
  report.expect('the agent of the grant', grant.agentId, decision['proposedBy']);
  if (decision['status'] === 'rejected') {
    report.expect('the approvals that were required', approvalsOf(approvers), 1);
    if (approvers.some((/** @type {Json} */ { signed }) => signed)) report.differ('a signature was required');
    report.expect('the uses of the grant', grant.uses, 1);
    report.expect('the resources of the grant', grant.resources, null);
    report.expect('the end of the grant', grant.until, after(grant.createdAt, executeWithin));
    return;
  }
  report.expect('the status of its decision', decision['status'], 'approved');
  const [first] = reviews;
  const most = decision['grant']?.uses ?? null;
  const texts = new Set(
    reviews.map((/** @type {Json} */ { grant: given }) => JSON.stringify(given && comparable(given, most))),
  );
  if (first?.grant === undefined || texts.size !== 1)
    return report.differ('its reviewers did not all give the same grant');
  const { for: length, uses, resources, parameters } = first.grant;
  report.expect('the end of the grant', grant.until, after(grant.createdAt, length));
  report.expect('the uses of the grant', grant.uses, uses ?? most);
  report.expect('the resources of the grant', grant.resources, resources);
  report.expect('whether the grant is for any parameters', grant.parametersHash === null, parameters === 'any');
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
  const meant = { effect: 'allow', resources: [...(grant.resources ?? [])], resourceTypes: [resourceType] };
  const isMet =
    grant.resources === null ? grant.resourceId === resourceId : isResourceMet(meant, { resourceType, resourceId });
  if (!isMet) report.differ('the grant is not for this resource');
  if (grant.parametersHash !== null)
    report.expect('the parameters of the grant', grant.parametersHash, hashOf(state.parameters));
  report.expect('the status of the grant', grant.status, 'active');
  if (timestamp >= grant.until) report.differ(`the grant had ended at ${grant.until}`);
}

/**
 * Its reviewers, as they were when it served, have to meet what was required then.
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
  const type = ['.', '..'].includes(decision['type']) ? '_' : decision['type'].replaceAll('/', '_');
  const asked = {
    resourceType: 'decision',
    resourceId: `decisions/${approval.riskLevel}/${type}`,
    time: new Date(timestamp),
  };
  const revisions = new Map(
    (audit.details.approvers ?? []).map((/** @type {Json} */ one) => [one['agentId'], one['revision']]),
  );
  const verdict = isRejection ? 'reject' : 'approve';
  const giving = decision['reviews'].filter((/** @type {Json} */ review) => review['verdict'] === verdict);
  report.expect(
    'whose reviews counted',
    [...revisions.keys()],
    giving.map((/** @type {Json} */ { approverId }) => approverId),
  );
  const filled = giving.map((/** @type {Json} */ review) => {
    const { approverId } = review;
    const reviewer = history.agent(approverId, revisions.get(approverId), sequence);
    if (reviewer === undefined) {
      report.differ(
        `the file has no entry of the approver ${approverId} at revision ${String(revisions.get(approverId))}`,
      );
      return [];
    }
    const isDenied =
      evaluateReview(asAgent(/** @type {any} */ (reviewer)), { action: 'decision:approve', ...asked }, rules.policies)
        .effect === 'deny';
    const counts = reviewer['status'] === 'active' && !isDenied;
    report.say(`${described(reviewer)} ${counts ? 'gave it' : 'gave it, and did not count any more'}.`);
    return counts ? groupsFilled(approval.approvers, reviewer, review) : [];
  });
  if (!areFilled(approval.approvers, filled)) report.differ('its reviewers could not approve this any more');
  else report.say(`What was required then, ${required(approval.approvers)}, they could still approve.`);
}

/**
 * @param {Grant} grant
 * @param {Allowance | undefined} allowed
 * @param {string} timestamp
 */
function isAllowedToday({ createdAt, uses, resources, parametersHash }, allowed, timestamp) {
  if (allowed === undefined) return false;
  const isOld = Date.parse(timestamp) - Date.parse(createdAt) > milliseconds(allowed.for);
  const isWider = resources !== null || parametersHash === null;
  return !isOld && isFewer(uses, allowed.uses) && (allowed.wider || !isWider);
}

/**
 * @param {Json} given by a reviewer
 * @param {Allowance} allowed
 */
export function isWithin({ for: length, uses, resources, parameters }, allowed) {
  const isWider = resources !== null || parameters === 'any';
  return (
    milliseconds(length) <= milliseconds(allowed.for) &&
    isFewer(uses ?? allowed.uses, allowed.uses) &&
    (allowed.wider || !isWider)
  );
}

/**
 * @param {number | null} uses null: any number
 * @param {number | null} most
 */
function isFewer(uses, most) {
  return most === null || (uses !== null && uses <= most);
}

/** @param {Json} given by a reviewer */
export function givenText({ for: length, uses, resources, parameters }) {
  const what = resources === null ? 'the same resource' : `the resources ${JSON.stringify(resources)}`;
  return `for ${length}, ${times(uses)}, ${what} and ${parameters === 'any' ? 'any' : 'the same'} parameters`;
}

/** @param {Grant} grant */
function extent({ action, resourceType, resourceId, resources, parametersHash, uses }) {
  const where = resources === null ? resourceId : resources.join(', ');
  return `${action} on ${resourceType} ${JSON.stringify(where)} with ${parametersHash === null ? 'any' : 'these'} parameters, ${times(uses)}`;
}

/** @param {number | null} uses */
function times(uses) {
  return uses === null ? 'any number of times' : uses === 1 ? 'once' : `${uses} times`;
}

/**
 * With defaults, resources as a set.
 * @param {Json} given
 * @param {number | null} most
 */
function comparable({ for: length, uses, resources, parameters }, most) {
  return [length, uses ?? most, resources && [...new Set(resources)].sort(), parameters];
}

/**
 * @param {string} time
 * @param {string} duration
 */
function after(time, duration) {
  return new Date(Date.parse(time) + milliseconds(duration)).toISOString();
}
