import { hashOf } from '../canonical-json.mjs';
import { evaluateReview } from '../evaluation/evaluate.mjs';
import { approvalsOf } from '../evaluation/requirement.mjs';
import { matchesResource } from '../evaluation/resources.mjs';
import { after, comparable, givenText } from './grant-terms.mjs';
import { asAgent, groupsFilled } from './reviewer.mjs';
import { reviewed } from './review.mjs';

/**
 * How grants are made and end.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {{ entry: Json, decision: Json, asked: Json, history: History }} Made `asked`: the execution that its decision is about
 */

const ENDED = { 'grant.used_up': 'used_up', 'grant.expired': 'expired', 'grant.revoked': 'revoked' };

export const GRANTING = ['grant.created', ...Object.keys(ENDED)];

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function recomputeGrant(entry, history, report) {
  const { state, sequence, subjectId, timestamp, audit } = entry;
  if (audit.action !== 'grant.created') {
    const before = history.stateBefore(history.entriesAbout('grant', subjectId), sequence);
    report.expect('the status before', before?.['status'], 'active');
    report.expect('the status of the grant', state.status, ENDED[/** @type {'grant.expired'} */ (audit.action)]);
    if (state.status === 'expired' && timestamp < state.until)
      report.differ(`the grant expired at ${timestamp}, before ${state.until}`);
    if (state.status === 'used_up' && state.uses === null) report.differ('the grant was good for any number of uses');
    return report.say(`The grant ${subjectId} ended: ${state.status}.`);
  }
  const decision = history.stateBefore(history.entriesAbout('decision', state.decisionId), sequence);
  if (decision === undefined) return report.lack(`the file has no entry of the decision ${state.decisionId} before it`);
  report.expect('the status of the grant', state.status, 'active');
  report.expect('the time of the grant', state.createdAt, decision['resolvedAt']);
  report.expect('the time of the grant', state.createdAt, timestamp);
  const asked = history.stateBefore(history.entriesAbout('execution', decision['executionId'] ?? null), sequence);
  if (asked === undefined)
    return report.leaveOpen(`the file has no entry of the execution ${decision['executionId']} before it`);
  for (const name of ['agentId', 'action', 'resourceType', 'resourceId'])
    report.expect(`the ${name} of the grant`, state[name], asked[name]);
  report.expect('on whose behalf the grant is', state.onBehalfOf, asked['onBehalfOf']?.subject ?? null);
  report.expect('the action of its decision', decision['actionHash'], asked['actionHash']);
  const made = { entry, decision, asked, history };
  if (decision['status'] === 'rejected') expectGivenInstead(made, report);
  else expectGivenAlike(made, report);
  report.say(`With that the grant ${subjectId} was made.`);
}

/**
 * What a single reviewer would approve in place of what was asked for, who could have approved it.
 * @param {Made} made
 * @param {Report} report
 */
function expectGivenInstead({ entry: { state, subjectId, sequence, timestamp }, decision, asked, history }, report) {
  const { reviews, executeWithin, approvers = [], proposedBy } = decision;
  report.expect('the grant that the rejection gave instead', asked['instead']?.grantId, subjectId);
  report.expect('the parameters of the grant', state.parametersHash, hashOf(asked['instead']?.parameters ?? null));
  report.expect('the uses of the grant', state.uses, 1);
  report.expect('the resources of the grant', state.resources, null);
  report.expect('the end of the grant', state.until, after(state.createdAt, executeWithin));
  report.expect('the approvals that were required', approvalsOf(approvers), 1);
  const { approverId } = reviews.at(-1) ?? {};
  const rejection = history
    .entriesAbout('decision', state.decisionId)
    .findLast((entry) => entry['sequence'] < sequence);
  const { approverRevision, rules: hash } = rejection?.['audit'].details ?? {};
  const reviewer = history.agent(approverId, approverRevision, Number(rejection?.['sequence']));
  const rules = history.rules(hash);
  if (reviewer === undefined || rules === undefined)
    return report.lack('the file does not have the reviewer who rejected, and the rules of then');
  const review = { action: 'decision:approve', ...reviewed(decision), time: new Date(timestamp) };
  const said = evaluateReview(asAgent(/** @type {any} */ (reviewer)), review, rules.policies);
  const filled = groupsFilled(approvers, reviewer, {}, history.made);
  if (approverId === proposedBy || filled.length === 0 || said.effect === 'deny')
    report.differ('the reviewer who rejected could not have approved');
}

/**
 * What all reviewers gave alike.
 * @param {Made} made
 * @param {Report} report
 */
function expectGivenAlike({ entry: { state }, decision, asked }, report) {
  const { reviews, grant: allowed } = decision;
  report.expect('the status of its decision', decision['status'], 'approved');
  const [first] = reviews;
  const most = allowed?.uses ?? null;
  const texts = new Set(
    reviews.map((/** @type {Json} */ { grant: given }) => JSON.stringify(given && comparable(given, most))),
  );
  if (first?.grant === undefined || texts.size !== 1)
    return report.differ('its reviewers did not all give the same grant');
  const { for: length, uses, resources, parameters } = first.grant;
  report.expect('the end of the grant', state.until, after(state.createdAt, length));
  report.expect('the uses of the grant', state.uses, uses ?? most);
  report.expect('the resources of the grant', state.resources, resources);
  report.expect(
    'the parameters of the grant',
    state.parametersHash,
    parameters === 'any' ? null : hashOf(asked['parameters']),
  );
  const { resourceType, resourceId } = asked;
  const meant = { effect: 'allow', resources: [...(resources ?? [])], resourceTypes: [resourceType] };
  if (resources !== null && !matchesResource(meant, { resourceType, resourceId }))
    report.differ(`the grant, ${givenText(first.grant)}, does not cover what was asked for`);
}
