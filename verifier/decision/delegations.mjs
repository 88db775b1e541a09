import { evaluateReview } from '../evaluation/evaluate.mjs';
import { agentText, OPERATOR, quoted, senderText } from './narration.mjs';
import { asAgent } from './reviewer.mjs';

/**
 * Recomputes delegations, and who reviewed in whose place.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

const MAX_LENGTH_MS = 90 * 86_400_000;

/** The status before and after each action; undefined where there is none. */
const STATUSES = {
  'delegation.started': ['waiting', 'active'],
  'delegation.ended': [undefined, 'ended'],
  'delegation.expired': [undefined, 'expired'],
};

export const DELEGATING = ['delegation.created', ...Object.keys(STATUSES)];

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function recomputeDelegation({ state, audit, subjectId, sequence, timestamp }, history, report) {
  const { agentId, to, from, until } = state;
  if (audit.action === 'delegation.created') {
    report.expect('the status of the delegation', state.status, from <= timestamp ? 'active' : 'waiting');
    report.expect('endedAt', state.endedAt, null);
    if (audit.actor.id === OPERATOR) report.differ('only a key of the person delegates');
    // A clock may have been behind ledger time. Then the delegation begins late, or never holds.
    if (!(Date.parse(until) - Date.parse(from) <= MAX_LENGTH_MS) || to === agentId)
      report.differ(`nobody can delegate from ${from} to ${until}, or to themselves`);
    return report.say(`${agentId} let ${to} review in their place from ${from} until ${until}: ${subjectId}.`);
  }
  const before = history.stateBefore(history.entriesAbout('delegation', subjectId), sequence);
  const [statusBefore, status] = STATUSES[/** @type {'delegation.ended'} */ (audit.action)];
  const isOpen = statusBefore === undefined ? ['waiting', 'active'].includes(before?.['status']) : true;
  if (!isOpen || (statusBefore !== undefined && before?.['status'] !== statusBefore))
    report.differ(`the delegation was ${before?.['status']} before`);
  report.expect('the status of the delegation', state.status, status);
  if (status === 'active' ? timestamp < from || timestamp >= until : status === 'expired' && timestamp < until)
    report.differ(`the delegation was not ${status} at ${timestamp}`);
  report.say(`The delegation ${subjectId} was ${status} from then on.`);
}

/**
 * Finds what only the log shows of a new delegation: its `to` was no person, or suspended.
 * @param {Json} entry of the file, before it took place
 * @param {{ get(id: string): Json | undefined }} agents as they are
 * @returns {string[]} faults
 */
export function delegateFaults({ audit, state }, agents) {
  if (audit.action !== 'delegation.created') return [];
  const to = agents.get(state.to);
  return to?.['kind'] === 'human' && to['status'] === 'active'
    ? []
    : [`${state.to}, to whom the delegation was, was no active person`];
}

/**
 * Finds the agent in whose place a review was made: another person, if it names a delegation.
 * @param {Json} entry of the review
 * @param {Json} review
 * @param {Json} reviewer
 * @param {History} history
 * @param {Report} report
 * @returns {Json | undefined} undefined where the file lacks the person or the delegation
 */
export function placeOfReview({ state, audit, sequence, timestamp }, review, reviewer, history, report) {
  const { delegationId, approverId } = review;
  const { delegator } = audit.details;
  if (delegationId === undefined) {
    report.expect('details.delegator', delegator, undefined);
    return reviewer;
  }
  const delegation = history.stateBefore(history.entriesAbout('delegation', delegationId), sequence);
  if (delegation === undefined) {
    report.lack(`the file has no entry of the delegation ${delegationId} before it`);
    return undefined;
  }
  const { agentId, to, from, until, status } = delegation;
  report.expect('to whom the delegation was', to, approverId);
  report.expect('the status of the delegation', status, 'active');
  if (timestamp < from || timestamp >= until) report.differ(`the delegation held from ${from} until ${until}`);
  report.expect('details.delegator', delegator, { agentId, revision: delegator?.revision });
  const person = history.agent(agentId, delegator?.revision, sequence);
  if (person === undefined) {
    report.lack(`the file has no entry of the agent ${agentId} at revision ${String(delegator?.revision)}`);
    return undefined;
  }
  report.expect('the status of the person who delegated', person['status'], 'active');
  report.expect('the kind of the agent who delegated', person['kind'] ?? 'machine', 'human');
  report.expect('the kind of the agent to whom the delegation was', reviewer['kind'] ?? 'machine', 'human');
  const [request] = history.entriesAbout('execution', state.executionId ?? null);
  if (approverId === state.proposedBy || request?.['state'].onBehalfOf?.subject === `agent:${approverId}`)
    report.differ(
      `${approverId} proposed it, or it was on their behalf, so they could not review it for another person`,
    );
  report.say(`It was given in the place of ${agentText(person)}, by the delegation ${quoted(delegationId)}.`);
  const sender = history.entriesAbout('delegation', delegationId)[0]?.['audit'].actor;
  report.note(
    `The delegation ${quoted(delegationId)} was sent with ${senderText(sender)}; no device signs delegations.`,
  );
  return person;
}

/**
 * Returns the verdict of the policies that deny a review to one of the agents: the reviewer or, of a delegation, the
 * person.
 * @param {readonly Json[]} agents
 * @param {Parameters<typeof evaluateReview>[1]} request
 * @param {readonly import('../evaluation/evaluate.mjs').Policy[]} policies
 */
export function denialOf(agents, request, policies) {
  const verdicts = agents.map((agent) => evaluateReview(asAgent(/** @type {any} */ (agent)), request, policies));
  return verdicts.find(({ effect }) => effect === 'deny');
}
