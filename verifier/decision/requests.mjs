import { hashOf } from '../canonical-json.mjs';
import { evaluate, matchingPolicies } from '../evaluation/evaluate.mjs';
import { approvalsOf, milliseconds } from '../evaluation/requirement.mjs';
import { isStopping } from '../evaluation/stops.mjs';
import { recomputeGranted } from './grant-cover.mjs';
import { limitedPolicyIds, recomputeUses } from './limits.mjs';
import { expectFacts, expectZones, recomputeFacts } from './facts.mjs';
import { agentText, listText, quoted, verdictSentences, requestText, requirementText, stopText } from './narration.mjs';
import { requestFault } from './request-form.mjs';
import { expectRepeated, UNKNOWN } from './repeating.mjs';
import { asAgent } from './reviewer.mjs';

/**
 * Recomputes the request of an execution, and what the policies in force said.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/evaluate.mjs').Verdict} Verdict
 * @typedef {import('../evaluation/principals.mjs').Principal} Principal
 */

const SHOWN_POLICIES = 10;
const DAY = 86_400_000;
const TITLE = 500;

/**
 * @param {Json} entry `execution.authorized`, `denied` or `approval_requested`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeRequest(entry, history, report) {
  const { state, audit, timestamp } = entry;
  const { agentId, action, resourceType, resourceId, parameters, onBehalfOf } = state;
  const principal = onBehalfOf === undefined ? {} : { onBehalfOf };
  const hashedRequest = { agentId, action, resourceType, resourceId, parameters, ...principal };
  report.expect('createdAt', state.createdAt, timestamp);
  report.expect('actionHash', state.actionHash, hashOf(hashedRequest));
  expectBeginning(entry, report);
  const verdict = recomputeVerdict(entry, history, report, `requested ${requestText(state)}`);
  if (verdict === undefined) return;
  expectRepeated(entry, state.via !== undefined, history, report);
  if (audit.action === 'execution.authorized') {
    const isGranted = recomputeGranted(entry, verdict, history, report);
    if (!isGranted) report.expect('the effect', 'allow', verdict.effect);
    if (!isGranted) report.expect('details.approvers', audit.details.approvers ?? [], []);
    expectPolicies(entry, verdict, report);
    expectAuthorized(state, verdict, report);
    report.say('So it was authorized.');
  } else if (audit.action === 'execution.approval_requested') {
    report.expect('the outcome', state.outcome, 'pending_approval');
    recomputeRequirement(entry, verdict, history, report);
  } else {
    report.expect('the outcome', state.outcome, 'denied');
    report.expect('the reason', state.reason ?? null, audit.reason);
    recomputeDenied(entry, verdict, history, report);
  }
}

/**
 * Checks the members that an execution begins with, before it has a result.
 * @param {Json} entry
 * @param {Report} report
 */
function expectBeginning({ state, audit, timestamp }, report) {
  const isDenied = audit.action === 'execution.denied';
  const isWaiting = audit.action === 'execution.approval_requested';
  const names = isWaiting || audit.reason === 'approval_rejected';
  const expected = {
    completedAt: isDenied ? timestamp : null,
    result: null,
    approvedUntil: undefined,
    instead: undefined,
    ...(isDenied ? {} : { reason: undefined, failureReason: null }),
    ...(names ? {} : { decisionId: null }),
    ...(audit.action === 'execution.authorized' ? {} : { grantId: undefined, observed: undefined }),
  };
  for (const [name, value] of Object.entries(expected)) report.expect(name, state[name], value);
}

/**
 * Evaluates the request again for the agent as it was, by the rules that the entry names.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 * @param {string} actionText the predicate of the sentence that begins with the agent
 * @returns {Verdict | undefined} undefined where the file lacks what it needs
 */
export function recomputeVerdict({ state, audit, sequence, timestamp }, history, report, actionText) {
  const { details } = audit;
  const agent = history.agent(state.agentId, details.agentRevision, sequence);
  const rules = history.rules(details.rules);
  if (agent === undefined) {
    report.lack(`the file has no entry of the agent ${state.agentId} at revision ${details.agentRevision}`);
    return undefined;
  }
  if (rules === undefined) {
    report.lack('the file does not have the rules that were in force');
    return undefined;
  }
  const fault = requestFault(state);
  // A request that cannot exist is not evaluated.
  if (fault !== undefined) {
    report.differ(fault);
    return undefined;
  }
  const principal = principalOf(state, details.principalRevision, sequence, { history, report });
  if (principal === undefined) return undefined;
  const behalf = principal === null ? '' : `, on behalf of ${principal.text}`;
  const run = state.run === undefined ? '' : `, in the run ${JSON.stringify(state.run)}`;
  report.say(`${agentText(agent)} ${actionText}${behalf}${run}.`);
  report.expect('the agent’s name', state.agentName, agent['name']);
  report.expect('policySet', details.policySet, hashOf(rules.policies.map(({ id }) => id)));
  const { action, resourceType, resourceId, parameters } = state;
  const limitedIds = limitedPolicyIds(details);
  const truthOfFact = recomputeFacts({ state, audit, sequence, timestamp }, rules, history, report);
  const request = {
    action,
    resourceType,
    resourceId,
    parameters,
    evaluation: rules.evaluation,
    time: new Date(Date.parse(timestamp) + history.clockShift),
    limitedPolicyIds: limitedIds,
    truthOfFact,
    principal,
    matches: new Map(),
  };
  // A repeated resume is refused if policies allowed it at first, and only the observation would allow it now.
  const isRepeated = audit.action === 'execution.resume_denied' && audit.reason === 'no_policy_allows';
  const asker = asAgent(isRepeated ? { ...agent, observeUntil: undefined } : agent);
  const { stopId } = details;
  const stop = stopId === undefined ? undefined : history.stop(stopId, sequence);
  const isStopped = stop !== undefined && isStopping(stop, asker, action);
  const verdict = evaluate(asker, request, rules.policies, rules.defaultEffect, { isStopped, principal });
  if (stopId !== undefined && stop === undefined)
    report.differ(`the file has no entry of the stop ${stopId} before it`);
  else if (stopId !== undefined && verdict.reason !== 'stopped')
    report.differ(`the stop ${stopId} does not decide this`);
  if (stop !== undefined && verdict.reason === 'stopped') report.say(stopText(stop));
  expectFacts({ state, audit }, request, asker, { verdict, ...rules }, report);
  expectZones({ audit }, request, asker, { verdict, ...rules }, report);
  recomputeUses({ state, audit }, request, asker, { verdict, policies: rules.policies }, report);
  for (const sentence of verdictSentences(verdict, matchingPolicies(asker, request, rules.policies), rules))
    report.say(sentence);
  const isObserved = verdict.isObserved === true && audit.reason !== 'extension_refused';
  report.expect('details.observed', details.observed ?? false, isObserved);
  if (isObserved && agent['kind'] === 'human') report.differ('a person was observed; only machines are');
  const recordedPolicies = policiesToRecord(verdict, audit.reason);
  report.expect(
    'the deciding policies',
    details.policies,
    recordedPolicies.map(({ id, name, version }) => ({ id, name, version })),
  );
  return verdict;
}

/**
 * Finds the principal on whose behalf the agent acted; a registered person has the state of that time.
 * @param {Json} state of an execution
 * @param {unknown} revision of the person
 * @param {number} sequence of the entry
 * @param {{ history: History, report: Report }} found
 * @returns {Principal & { text: string } | null | undefined} undefined where the file lacks the person
 */
function principalOf({ onBehalfOf }, revision, sequence, { history, report }) {
  const { subject = null, roles = [] } = onBehalfOf ?? {};
  const isPerson = subject?.startsWith('agent:') === true;
  if (!isPerson && revision !== undefined) report.differ('details.principalRevision is given, and there is no person');
  if (subject === null) return null;
  if (!isPerson) {
    const as = roles.length === 0 ? 'no roles' : `the roles ${listText(roles)}`;
    return { subject, roles, text: `${subject} with ${as}` };
  }
  const person = history.agent(subject.slice('agent:'.length), revision, sequence);
  if (person === undefined) {
    report.lack(`the file has no entry of the person ${subject} at revision ${String(revision)}`);
    return undefined;
  }
  report.expect('the kind of the person', person['kind'], 'human');
  return { person: asAgent(/** @type {any} */ (person)), text: agentText(person) };
}

/**
 * Selects the policies that an entry records: none if a module of the operator refused what the policies allowed.
 * @param {Verdict} verdict
 * @param {unknown} reason
 */
function policiesToRecord({ policies }, reason) {
  return reason === 'extension_refused' ? [] : policies.slice(0, SHOWN_POLICIES);
}

/**
 * @param {Json} entry of an execution
 * @param {Verdict} verdict
 * @param {Report} report
 */
export function expectPolicies({ state: { policies }, audit }, verdict, report) {
  const recordedPolicies = policiesToRecord(verdict, audit.reason);
  report.expect(
    'the policies of the execution',
    policies,
    recordedPolicies.map(({ id, name, version, effect }) => ({ id, name, version, effect })),
  );
}

/**
 * @param {Json} state of an execution
 * @param {Verdict} verdict
 * @param {Report} report
 */
export function expectAuthorized({ outcome, observed = false }, { isObserved = false }, report) {
  if (!['authorized', 'running'].includes(outcome)) report.expect('the outcome', outcome, 'authorized');
  report.expect('observed', observed, isObserved);
}

/**
 * @param {Json} entry
 * @param {Verdict} verdict
 * @param {History} history
 * @param {Report} report
 */
function recomputeDenied(entry, verdict, history, report) {
  const { audit } = entry;
  expectPolicies(entry, verdict, report);
  if (audit.reason === 'extension_refused') {
    if (verdict.effect === 'deny') report.expect('the reason', audit.reason, verdict.reason);
    report.say('The policies let it through; a module of the operator refused it, which no file can show.');
  } else if (audit.reason === UNKNOWN && verdict.effect !== 'deny') {
    report.say('So it was denied: it may have taken effect already.');
  } else if (audit.reason === 'approval_rejected' && verdict.effect === 'require_approval') {
    expectRejection(entry, history, report);
  } else {
    report.expect('the reason', audit.reason, verdict.reason);
    report.say(`So it was denied: ${quoted(audit.reason)}.`);
  }
}

/**
 * Checks the rejection that blocked the request. A rejection holds until its decision would have expired, a day at
 * most.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
function expectRejection({ state, sequence, timestamp }, history, report) {
  if (history.isLost('decision', state['decisionId'])) return;
  const decision = history.stateBefore(history.entriesAbout('decision', state['decisionId']), sequence);
  if (decision === undefined) return report.lack(`the file has no entry of the decision ${state['decisionId']}`);
  report.expect('the status of the earlier decision', decision['status'], 'rejected');
  report.expect('the action of the earlier decision', decision['actionHash'], state['actionHash']);
  if (timestamp >= rejectionEnd(decision) || timestamp < decision['resolvedAt'])
    report.differ(`the rejection of ${decision['resolvedAt']} does not hold at ${timestamp}`);
  report.say(`An approval was required. The same action was rejected at ${decision['resolvedAt']}, so it was denied.`);
}

/**
 * Returns the end of a rejection as ISO 8601; empty if the decision has no valid times.
 * @param {Json} decision
 */
export function rejectionEnd({ expiresAt, resolvedAt }) {
  const end = new Date(Math.min(Date.parse(expiresAt), Date.parse(resolvedAt) + DAY));
  return Number.isNaN(end.getTime()) ? '' : end.toISOString();
}

/**
 * Checks that the decision, proposed in the same commit, requires what the policies require.
 * @param {Json} entry
 * @param {Verdict} verdict
 * @param {History} history
 * @param {Report} report
 */
function recomputeRequirement(entry, verdict, history, report) {
  const { state, sequence, timestamp } = entry;
  expectPolicies(entry, verdict, report);
  report.expect('the effect', 'require_approval', verdict.effect);
  if (history.isLost('decision', state['decisionId'])) return;
  const decision = history.stateBefore(history.entriesAbout('decision', state.decisionId), sequence);
  const { approval } = verdict;
  if (decision === undefined)
    return report.lack(`the file has no entry that proposed the decision ${state.decisionId}`);
  if (approval === null) return;
  const title = `${state.agentName}: ${state.action} on ${state.resourceType}/${state.resourceId}`;
  const expiresAt = new Date(Date.parse(timestamp) + milliseconds(approval.decideWithin)).toISOString();
  const expected = {
    type: 'execution',
    title: [...title].slice(0, TITLE).join(''),
    description: '',
    context: {},
    proposedBy: state.agentId,
    status: 'proposed',
    reviews: [],
    executionId: state.id,
    actionHash: state.actionHash,
    createdAt: timestamp,
    updatedAt: timestamp,
    resolvedAt: null,
    traceId: state.traceId,
    expiresAt,
    riskLevel: approval.riskLevel,
    approvers: approval.approvers,
    executeWithin: approval.executeWithin,
    requiredApprovals: approvalsOf(approval.approvers),
    grant: approval.grant,
    change: undefined,
    actor: undefined,
  };
  for (const [name, value] of Object.entries(expected)) report.expect(`the decision’s ${name}`, decision[name], value);
  report.say(
    `So an approval was required: ${requirementText(approval.approvers)}; risk ${approval.riskLevel}, ` +
      `to be decided until ${expiresAt}, then good for ${approval.executeWithin}.`,
  );
}
