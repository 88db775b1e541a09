import { hashOf } from '../canonical-json.mjs';
import { approvalsOf } from '../evaluation/requirement.mjs';
import { matchesResource } from '../evaluation/resources.mjs';
import { after, comparable, isWithinAllowance, termsText } from './grant-terms.mjs';
import { denialOf } from './delegations.mjs';
import { groupsFilled } from './reviewer.mjs';
import { reviewedResource } from './review.mjs';

/**
 * Recomputes how grants were made and how they ended.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {{ entry: Json, decision: Json, execution: Json }} GrantCreation `execution`: the one that its decision is about
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
  const execution = history.stateBefore(history.entriesAbout('execution', decision['executionId'] ?? null), sequence);
  if (execution === undefined)
    return report.leaveOpen(`the file has no entry of the execution ${decision['executionId']} before it`);
  const creation = { entry, decision, execution };
  expectTerms(creation, report);
  if (decision['status'] === 'rejected') expectGivenInstead(creation, history, report);
  report.say(`With that the grant ${subjectId} was made.`);
}

/**
 * @param {GrantCreation} made
 * @param {Report} report
 */
function expectTerms(made, report) {
  const { entry, decision, execution } = made;
  const { state } = entry;
  for (const name of ['agentId', 'action', 'resourceType', 'resourceId'])
    report.expect(`the ${name} of the grant`, state[name], execution[name]);
  report.expect('on whose behalf the grant is', state.onBehalfOf, execution['onBehalfOf']?.subject ?? null);
  report.expect('the action of its decision', decision['actionHash'], execution['actionHash']);
  if (decision['status'] === 'rejected') expectInsteadTerms(made, report);
  else expectEqualTerms(made, report);
}

/**
 * Checks the terms of a grant that a single reviewer gave for other parameters than the request had.
 * @param {GrantCreation} made
 * @param {Report} report
 */
function expectInsteadTerms({ entry: { state, subjectId }, decision, execution }, report) {
  const { executeWithin, approvers = [] } = decision;
  report.expect('the grant that the rejection gave instead', execution['instead']?.grantId, subjectId);
  report.expect('the parameters of the grant', state.parametersHash, hashOf(execution['instead']?.parameters ?? null));
  report.expect('the uses of the grant', state.uses, 1);
  report.expect('the resources of the grant', state.resources, null);
  report.expect('the end of the grant', state.until, after(state.createdAt, executeWithin));
  report.expect('the approvals that were required', approvalsOf(approvers), 1);
}

/**
 * Checks that the reviewer who gave a grant for other parameters could have approved.
 * @param {GrantCreation} made
 * @param {History} history
 * @param {Report} report
 */
function expectGivenInstead({ entry: { state, sequence, timestamp }, decision }, history, report) {
  const { reviews, approvers = [], proposedBy } = decision;
  const { approverId } = reviews.at(-1) ?? {};
  const rejection = history
    .entriesAbout('decision', state.decisionId)
    .findLast((entry) => entry['sequence'] < sequence);
  const { approverRevision, delegator, rules: hash } = rejection?.['audit'].details ?? {};
  const reviewer = history.agent(approverId, approverRevision, Number(rejection?.['sequence']));
  const place =
    delegator === undefined
      ? reviewer
      : history.agent(delegator.agentId, delegator.revision, Number(rejection?.['sequence']));
  const rules = history.rules(hash);
  if (reviewer === undefined || place === undefined || rules === undefined)
    return report.lack('the file does not have the reviewer who rejected, and the rules of then');
  const review = { action: 'decision:approve', ...reviewedResource(decision), time: new Date(timestamp) };
  const denial = denialOf([place, reviewer], review, rules.policies);
  const filledGroups = groupsFilled(approvers, place, {}, history.validSignatures);
  if (place['id'] === proposedBy || filledGroups.length === 0 || denial !== undefined)
    report.differ('the reviewer who rejected could not have approved');
}

/**
 * Checks that all reviewers gave the same grant.
 * @param {GrantCreation} made
 * @param {Report} report
 */
function expectEqualTerms({ entry: { state }, decision, execution }, report) {
  const { reviews, grant: allowance } = decision;
  report.expect('the status of its decision', decision['status'], 'approved');
  const [first] = reviews;
  const most = allowance?.uses ?? null;
  const texts = new Set(
    reviews.map((/** @type {Json} */ { grant: terms }) => JSON.stringify(terms && comparable(terms, most))),
  );
  if (first?.grant === undefined || texts.size !== 1)
    return report.differ('its reviewers did not all give the same grant');
  const { for: length, uses, resources, parameters } = first.grant;
  if (allowance === undefined || !isWithinAllowance(first.grant, allowance))
    report.differ('the decision does not allow such a grant');
  report.expect('the end of the grant', state.until, after(state.createdAt, length));
  report.expect('the uses of the grant', state.uses, uses ?? most);
  report.expect('the resources of the grant', state.resources, resources);
  report.expect(
    'the parameters of the grant',
    state.parametersHash,
    parameters === 'any' ? null : hashOf(execution['parameters']),
  );
  const { resourceType, resourceId } = execution;
  const pattern = { effect: 'allow', resources: [...(resources ?? [])], resourceTypes: [resourceType] };
  if (resources !== null && !matchesResource(pattern, { resourceType, resourceId }))
    report.differ(`the grant, ${termsText(first.grant)}, does not cover the request`);
}
