import { canonicalJson } from '../canonical-json.mjs';
import { AUTHORISING } from './history.mjs';
import { isEmergency, recomputeProposal } from './changes.mjs';
import { approvalsOf, milliseconds, RISKS } from '../evaluation/requirement.mjs';
import { escalatingGroups, withEscalation } from './escalations.mjs';
import { alternativesText, listText, OPERATOR, quoted, senderText } from './narration.mjs';
import { short } from './report.mjs';

/**
 * Recomputes how executions and their decisions ended or changed, except by reviews and resumes, and checks every
 * deadline.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {{ entry: Json, before: Json | undefined, decision: Json | undefined, history: History, report: Report }} SettlementCheck
 */

/** @type {Readonly<Record<string, (settled: SettlementCheck) => void>>} */
const SETTLED = {
  'execution.approved': executionApproved,
  'execution.rejected': (settled) => executionEnded(settled, 'rejected'),
  'execution.expired': executionExpired,
  'execution.cancelled': (settled) => executionEnded(settled, 'cancelled'),
  'execution.completed': executionCompleted,
  'execution.interrupted': executionInterrupted,
  'decision.proposed': decisionProposed,
  'decision.expired': decisionExpired,
  'decision.cancelled': decisionCancelled,
  'decision.escalated': decisionEscalated,
  'decision.approval_denied': reviewRefused,
  'decision.rejection_denied': reviewRefused,
};

/** The types of decisions that only the service makes. */
const OF_CHANGES = ['change', 'change_review'];

/** The reason of an execution whose result no gateway reported, and the milliseconds after which none can report it. */
const NOT_REPORTED = 'not_reported';
const MAX_REPORT_MS = 86_400_000;

export const SETTLING = Object.keys(SETTLED);

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function recomputeSettling(entry, history, report) {
  const { sequence, subjectType, subjectId, audit } = entry;
  const own = history.entriesAbout(subjectType, subjectId);
  const ofDecision = history.entriesAbout('decision', entry['state'].decisionId ?? null);
  const [before, decision] = [history.stateBefore(own, sequence), history.stateBefore(ofDecision, sequence)];
  SETTLED[audit.action]?.({ entry, before, decision, history, report });
}

/**
 * Checks a proposed decision. Its requirement is recomputed with the request of its execution.
 * @param {SettlementCheck} settled
 */
function decisionProposed({ entry, history, report }) {
  const { subjectId, state, sequence, audit } = entry;
  report.expect('the status', [state.status, state.reviews, state.resolvedAt], ['proposed', [], null]);
  if (state.change !== undefined) return recomputeProposal(entry, history, report);
  if (state.executionId === undefined) return questionProposed(entry, history, report);
  report.say(`The decision ${subjectId} was proposed in the same commit.`);
  const [request] = history.entriesAbout('execution', state.executionId ?? null);
  if (request === undefined)
    return report.leaveOpen(`the file has no entry of the execution ${state.executionId} that ${subjectId} is about`);
  report.expect('the caller who requested it', audit.actor, request['audit'].actor);
  report.expect('the decision of its execution', request['state'].decisionId, subjectId);
  report.expect('the action of its first entry', request['action'], 'execution.approval_requested');
  if (request['sequence'] < sequence) report.differ('its execution was requested before');
}

/**
 * Checks a decision for which no execution waits.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
function questionProposed({ subjectId, state, sequence }, history, report) {
  const { proposedBy, type, riskLevel, approvers, requiredApprovals } = state;
  if (proposedBy === null || history.agentBefore(proposedBy, sequence) === undefined)
    report.lack(`there is no entry of the agent ${proposedBy} that proposed ${subjectId}`);
  if (OF_CHANGES.includes(type)) report.differ(`nobody proposes a decision of the type ${quoted(type)}`);
  if (!RISKS.includes(riskLevel)) report.differ(`the risk ${quoted(riskLevel)} is not known`);
  for (const name of ['actionHash', 'executeWithin', 'grant', 'actor']) report.expect(name, state[name], undefined);
  if (approvers !== undefined) report.expect('requiredApprovals', requiredApprovals, approvalsOf(approvers));
  else if (!(requiredApprovals >= 1)) report.differ('the decision requires no approval');
  report.say(`The decision ${subjectId} was proposed.`);
}

/** @param {SettlementCheck} settled */
function executionApproved(settled) {
  const { entry, before, decision, report } = settled;
  const { state, audit, timestamp } = entry;
  expectSettledBy(settled);
  report.expect('the outcome before', before?.['outcome'], 'pending_approval');
  report.expect('the outcome', state.outcome, 'approved');
  report.expect('the decision', [decision?.['status'], decision?.['resolvedAt']], ['approved', timestamp]);
  report.expect('details.reviewerId', audit.details.reviewerId, decision?.['reviews'].at(-1)?.approverId);
  const until = Date.parse(timestamp) + milliseconds(String(decision?.['executeWithin']));
  if (Number.isNaN(until)) return report.differ('the decision does not say for how long its approval is good');
  report.expect('approvedUntil', state.approvedUntil, new Date(until).toISOString());
  report.say(`So the execution was approved, until ${state.approvedUntil}.`);
}

/**
 * @param {SettlementCheck} settled
 * @param {string} outcome
 */
function executionEnded(settled, outcome) {
  const { entry, before, decision, history, report } = settled;
  const { state, timestamp, audit } = entry;
  report.expect('the outcome', state.outcome, outcome);
  if (before?.['outcome'] === 'pending_approval') expectSettledBy(settled);
  report.expect('completedAt', state.completedAt, timestamp);
  if (before?.['outcome'] === 'pending_approval')
    report.expect('the decision', [decision?.['status'], decision?.['resolvedAt']], [outcome, timestamp]);
  else
    report.expect('the outcome before', before?.['outcome'], outcome === 'rejected' ? 'pending_approval' : 'approved');
  const reviewerId = outcome === 'rejected' ? decision?.['reviews'].at(-1)?.approverId : null;
  report.expect('details.reviewerId', audit.details.reviewerId, reviewerId);
  report.say(
    `The execution was ${outcome}${audit.reason === null ? '' : `, for the reason ${JSON.stringify(audit.reason)}`}.`,
  );
  if (state.instead === undefined) return;
  const { parameters, grantId } = state.instead;
  if (outcome !== 'rejected') report.differ('only a rejection says what would be approved instead');
  if (Object.keys(state.instead).sort().join() !== 'grantId,parameters')
    report.differ('what would be approved instead has not its parameters and a grant');
  if (canonicalJson(parameters) === canonicalJson(state.parameters))
    report.differ('what would be approved instead is what was requested');
  if (grantId !== null && history.entriesAbout('grant', grantId).length === 0)
    report.leaveOpen(`the file has no entry of the grant ${grantId}`);
  const sequel = grantId === null ? 'it has to be requested' : `the grant ${grantId} is for that, once`;
  report.say(`The parameters ${short(parameters)} would be approved instead: ${sequel}.`);
}

/**
 * Checks that the caller who settled the decision is that of the execution, as both are in one commit.
 * @param {SettlementCheck} settled
 */
function expectSettledBy({ entry: { state, audit, sequence }, history, report }) {
  const settling = history.entriesAbout('decision', state.decisionId).findLast((entry) => entry['sequence'] < sequence);
  report.expect('the caller who settled it', audit.actor, settling?.['audit'].actor);
}

/** @param {SettlementCheck} settled */
function executionExpired(settled) {
  const { entry, before, report } = settled;
  const until = before?.['approvedUntil'];
  if (before?.['outcome'] === 'approved' && entry['timestamp'] < until)
    report.differ(`the approval ended at ${entry['timestamp']}, before ${until}`);
  executionEnded(settled, 'expired');
}

/**
 * Checks the caller who completed an execution: that of the handler, or the service if no gateway has reported it.
 * @param {SettlementCheck} settled
 */
function expectCompletedBy({ entry: { state, audit, sequence, timestamp }, before, history, report }) {
  const isHandled = before?.['outcome'] === 'running';
  const beginning = history
    .entriesAbout('execution', state.id)
    .findLast((entry) => entry['sequence'] < sequence && AUTHORISING.includes(entry['action']));
  const isByGateway = audit.actor.type === 'api_key' && audit.actor.id !== OPERATOR;
  if (isHandled) report.expect('the caller who completed it', audit.actor, beginning?.['audit'].actor);
  else if (audit.actor.type === 'system') {
    report.expect('the reason of the service', audit.reason, NOT_REPORTED);
    const due = Date.parse(state.approvedUntil ?? state.createdAt) + MAX_REPORT_MS;
    if (state.via === undefined || !(Date.parse(timestamp) >= due))
      report.differ('the service waits a day for the report of a gateway, and for no other');
  } else if (state.via !== undefined && !isByGateway)
    report.differ(`${senderText(audit.actor)} reports nothing that a gateway served`);
}

/** @param {SettlementCheck} settled */
function executionCompleted(settled) {
  const { entry, before, report } = settled;
  const { state, timestamp, audit } = entry;
  expectCompletedBy(settled);
  if (!['authorized', 'running'].includes(before?.['outcome']))
    report.expect('the outcome before', before?.['outcome'], 'authorized');
  report.expect('the outcome', state.outcome, audit.outcome === 'success' ? 'executed' : 'failed');
  if (audit.outcome === 'success')
    report.expect('the reason and what failed', [audit.reason, state.failureReason], [null, null]);
  // Only the entry has the code that a handler gave.
  const reason = before?.['outcome'] === 'running' ? before['reason'] : (audit.reason ?? undefined);
  report.expect('the reason of the execution', state.reason, reason);
  report.expect('completedAt', state.completedAt, timestamp);
  const beginning =
    before?.['outcome'] === 'running'
      ? 'A handler of the service carried it out'
      : audit.actor.type === 'system'
        ? 'No gateway reported the result within a day'
        : 'The caller reported the result';
  report.say(
    `${beginning}: ${state.outcome}${state.result === null ? '' : `, with the result ${short(state.result)}`}.`,
  );
  if (state.failureReason !== null) report.say(`It failed: ${JSON.stringify(state.failureReason)}.`);
}

/** @param {SettlementCheck} settled */
function executionInterrupted({ entry: { state, timestamp }, before, report }) {
  report.expect('the outcome before', before?.['outcome'], 'running');
  report.expect('the outcome', state.outcome, 'interrupted');
  report.expect('completedAt', state.completedAt, timestamp);
  report.say('The service stopped while a handler ran: nobody knows the result.');
}

/** @param {SettlementCheck} settled */
function decisionExpired({ entry: { state, timestamp }, before, report }) {
  expectUnresolved(before, report);
  report.expect('the status', [state.status, state.resolvedAt], ['expired', timestamp]);
  if (timestamp < String(state.expiresAt))
    report.differ(`the decision expired at ${timestamp}, before ${state.expiresAt}`);
  report.say(`Nobody settled the decision until ${state.expiresAt}: expired.`);
}

/** @param {SettlementCheck} settled */
function decisionEscalated({ entry: { state, audit, timestamp }, before, report }) {
  expectUnresolved(before, report);
  if (before === undefined) return;
  const groups = escalatingGroups(before, timestamp);
  if (groups.length === 0 || timestamp >= String(before['expiresAt'] ?? '~'))
    report.differ(`no group of the decision escalated at ${timestamp}`);
  report.expect('details.groups', audit.details.groups, groups);
  report.expect('the approvers', state.approvers, withEscalation(before, groups, timestamp));
  const people = groups.map((index) => alternativesText(before['approvers'][index].escalate.subjects));
  report.say(`It was not decided in time, so ${listText(people)} could approve it as well.`);
}

/** @param {SettlementCheck} settled */
function decisionCancelled({ entry: { state, timestamp, audit }, before, report }) {
  expectUnresolved(before, report);
  if (isEmergency(state)) report.differ('nobody cancels the review of an emergency');
  const { type, id } = audit.actor;
  if (state.change !== undefined && type === 'token' && !(state.actor?.type === type && state.actor.id === id))
    report.differ(`${senderText(audit.actor)} cancels no change of another caller`);
  report.expect('the status', [state.status, state.resolvedAt], ['cancelled', timestamp]);
  report.say(
    `The decision was cancelled${audit.reason === null ? '' : `, for the reason ${JSON.stringify(audit.reason)}`}.`,
  );
}

/** @param {SettlementCheck} settled */
function reviewRefused({ entry: { audit }, report }) {
  report.say(
    `A review by ${audit.agentId ?? 'nobody named'}, sent with ${senderText(audit.actor)}, was refused: ${quoted(audit.reason)}. It changed nothing.`,
  );
}

/**
 * @param {Json | undefined} before
 * @param {Report} report
 */
function expectUnresolved(before, report) {
  report.expect('the status before', before?.['status'], 'proposed');
}
