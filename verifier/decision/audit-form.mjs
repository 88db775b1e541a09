import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { entityIn } from '../evaluation/resources.mjs';
import { isEmergencyProposal, isMaking } from './changes.mjs';
import { MADE_ACTIONS } from './made-requests.mjs';
import { mayBePerson } from './senders.mjs';
import { valueFaults } from '../record-states.mjs';

/**
 * The members except its details that the service writes about each action, by docs/api-decisions.md#audit: the
 * outcome, the requester, and the agent and the entity that it is filed under. Nobody decides by these, but people
 * search the trail by them.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {object} Form
 * @property {readonly string[]} [outcomes]
 * @property {readonly string[]} [actors]
 * @property {(entry: Json, history: History) => boolean} [isServices] whether the service may have written the entry
 *   itself, if it is one of `actors`
 * @property {(state: Json) => unknown} [agentId]
 * @property {boolean} [reason] whether it has one: that of a caller, or one that is recomputed elsewhere
 * @property {(state: Json) => Readonly<Record<string, unknown>>} [details] what they have to be
 * @property {readonly string[]} [basis] the names of details that are recomputed elsewhere
 * @property {readonly string[]} [times] the members that have the time of the entry
 * @property {(entry: Json) => boolean} [isUnchanged] whether the entry may have left its record as it was, and so these
 *   members
 */

const CALLERS = ['api_key', 'token'];
/** People also review with buttons in Slack, which settles executions. */
const REVIEWERS = [...CALLERS, 'slack'];
const SERVICE = ['system'];
/** The id of the service as an actor. */
const SERVICE_ID = 'service';

/** @param {Json} state */
const own = (state) => state['id'];
/** @param {Json} state */
const actingAgentId = (state) => state['agentId'];
/** @param {Json} state */
const proposerId = (state) => state['proposedBy'];

/** @param {Json} state of an execution */
const executionDetails = ({ action, resourceType, resourceId, decisionId, policies }) => ({
  action,
  resourceType,
  resourceId,
  policies: policies.map((/** @type {Json} */ { id, name, version }) => ({ id, name, version })),
  ...(decisionId !== null && { decisionId }),
});
/** @param {Json} state of a decision */
const countDetails = ({ reviews, requiredApprovals }) => ({
  approvals: reviews.filter((/** @type {Json} */ { verdict }) => verdict === 'approve').length,
  requiredApprovals,
});
/** @param {Json} state of a decision */
const reviewDetails = (state) => ({ ...countDetails(state), verdict: state['reviews'].at(-1)?.verdict });
/** @param {Json} state of a grant */
const endDetails = ({ decisionId }) => ({ decisionId });

/** Details that name what an execution was decided by: they are recomputed with it. */
const BASIS = [
  ...['policySet', 'rules', 'agentRevision', 'principalRevision', 'grantId', 'stopId', 'audience', 'observed'],
  ...['used', 'limited', 'earlier', 'claims', 'zones', 'approvers', 'repeats'],
];
const REVIEW_BASIS = ['rules', 'approverRevision', 'delegator'];
/** The service ends what it erases: what a decision gave that is erased, and what a restored backup has opened again. */
const ENDED_EARLY = { actors: [...CALLERS, ...SERVICE], isServices: isBeforeErasure, reason: true };
const DECIDED = { details: executionDetails, basis: BASIS };
/** A refused resume changes no execution: the policies that decided it are recomputed with it. */
const DENIED = {
  ...DECIDED,
  details: (/** @type {Json} */ state) => ({ ...executionDetails(state), policies: undefined }),
};
const SETTLED = { details: executionDetails };
const REVIEWED = { actors: REVIEWERS, details: reviewDetails, basis: REVIEW_BASIS, times: ['updatedAt'] };
/** @param {string} verdict */
const refusalForm = (verdict) => ({
  actors: REVIEWERS,
  outcomes: ['denied'],
  details: () => ({ verdict }),
  basis: ['policies'],
  reason: true,
});

/** Details of a change that may need a second person: the decision that approved it, or that it was an emergency. */
const OF_CHANGES = ['changeId', 'breakGlass'];
/** Details that name the entries which a change has made. */
const RANGE = ['firstSequence', 'lastSequence'];
const POLICY = { agentId: () => null, details: policyDetails, basis: ['policySet'] };

/** Maps actions to forms; by default, a caller was successful. @type {Readonly<Record<string, Form>>} */
const FORMS = {
  'agent.created': { agentId: own, times: ['createdAt', 'updatedAt'] },
  'agent.updated': {
    actors: [...CALLERS, ...SERVICE],
    isServices: isOfDirectory,
    agentId: own,
    times: ['updatedAt'],
    basis: ['fields'],
  },
  'agent.suspended': { agentId: own, times: ['updatedAt'], isUnchanged: isSuspendedAgain, reason: true },
  'agent.resumed': { agentId: own, times: ['updatedAt'], reason: true },
  'agent.access_reviewed': {
    agentId: own,
    details: ({ revision }) => ({ revision }),
    basis: ['rules', 'reviewedBy'],
  },
  'decision.proposal_denied': { outcomes: ['denied'], agentId: own, basis: ['riskLevel'], reason: true },
  'execution.authorized': { agentId: actingAgentId, ...DECIDED },
  'execution.denied': { outcomes: ['denied'], agentId: actingAgentId, ...DECIDED, reason: true },
  'execution.approval_requested': { agentId: actingAgentId, ...DECIDED },
  'execution.approved': { actors: REVIEWERS, agentId: actingAgentId, ...SETTLED, basis: ['reviewerId'] },
  'execution.rejected': { actors: REVIEWERS, agentId: actingAgentId, ...SETTLED, basis: ['reviewerId'] },
  'execution.expired': { actors: SERVICE, agentId: actingAgentId, ...SETTLED },
  'execution.cancelled': { ...ENDED_EARLY, agentId: actingAgentId, ...SETTLED },
  'execution.resumed': { agentId: actingAgentId, ...DECIDED },
  'execution.resume_denied': { outcomes: ['denied'], agentId: actingAgentId, ...DENIED, reason: true },
  'execution.completed': {
    outcomes: ['success', 'failed'],
    actors: [...CALLERS, ...SERVICE],
    agentId: actingAgentId,
    ...SETTLED,
    reason: true,
  },
  'execution.interrupted': { outcomes: ['failed'], actors: SERVICE, agentId: actingAgentId, ...SETTLED },
  'decision.proposed': {
    agentId: proposerId,
    times: ['createdAt', 'updatedAt'],
    details: ({ riskLevel, requiredApprovals }) => ({ riskLevel, requiredApprovals }),
  },
  'decision.reviewed': REVIEWED,
  'decision.approved': REVIEWED,
  'decision.rejected': REVIEWED,
  'decision.expired': {
    actors: SERVICE,
    agentId: () => null,
    times: ['updatedAt'],
    details: (state) => ({ ...countDetails(state), expiresAt: state['expiresAt'] }),
  },
  'decision.escalated': {
    actors: SERVICE,
    agentId: () => null,
    times: ['updatedAt'],
    details: countDetails,
    basis: ['groups'],
  },
  'decision.cancelled': { ...ENDED_EARLY, agentId: proposerId, times: ['updatedAt'], details: countDetails },
  'decision.approval_denied': refusalForm('approve'),
  'decision.rejection_denied': refusalForm('reject'),
  'decision.change_made': { agentId: proposerId, times: ['updatedAt'], basis: ['approvers'] },
  'policy.created': { ...POLICY, times: ['createdAt'] },
  'policy.superseded': { ...POLICY, basis: ['policySet', 'supersededBy'] },
  'policy.activated': { ...POLICY },
  'policy.deactivated': { ...POLICY },
  'api_key.created': {
    agentId: actingAgentId,
    times: ['createdAt'],
    details: ({ scopes, expiresAt, team }) => ({ scopes, expiresAt, ...(team !== undefined && { team }) }),
  },
  'webhook.created': {
    agentId: () => null,
    times: ['createdAt', 'updatedAt'],
    details: ({ actions }) => ({ actions }),
  },
  'webhook.updated': { agentId: () => null, times: ['updatedAt'], basis: ['fields'] },
  'webhook.deleted': { agentId: () => null },
  'passkey.removed': {},
  'erasure.begun': { agentId: () => null, times: ['createdAt'] },
  'claim.added': { agentId: () => null, times: ['createdAt'] },
  'grant.created': {
    agentId: actingAgentId,
    times: ['createdAt'],
    details: ({ decisionId, until, uses }) => ({ decisionId, until, uses }),
  },
  'grant.used_up': { agentId: actingAgentId, details: endDetails },
  'grant.expired': { actors: SERVICE, agentId: actingAgentId, details: endDetails },
  'grant.revoked': { ...ENDED_EARLY, agentId: actingAgentId, details: endDetails },
  'delegation.created': { agentId: actingAgentId, times: ['createdAt'] },
  'delegation.started': { actors: SERVICE, agentId: actingAgentId },
  'delegation.ended': { agentId: actingAgentId, times: ['endedAt'] },
  'delegation.expired': { actors: SERVICE, agentId: actingAgentId, times: ['endedAt'] },
  'passkey.registered': { agentId: actingAgentId, times: ['createdAt'] },
  'stop.created': { times: ['createdAt'] },
  'stop.lifted': { times: ['liftedAt'], reason: true },
};

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function expectAuditForm(entry, history, report) {
  const { sequence, timestamp, state, audit } = entry;
  const form = Object.hasOwn(FORMS, audit.action) ? FORMS[audit.action] : undefined;
  if (form === undefined || isErased(entry)) return;
  const times = form.isUnchanged?.(entry) === true ? [] : (form.times ?? []);
  for (const name of times) report.expect(name, state[name], timestamp, sequence);
  for (const fault of valueFaults(entry, state ?? {})) report.differ(fault, sequence);
  const isHeld = MADE_ACTIONS.includes(audit.action) || isEmergencyProposal(entry);
  const isEmergency = isHeld && audit.details.breakGlass === true;
  if (form.reason === undefined && !isEmergency) report.expect('the reason of the entry', audit.reason, null, sequence);
  const basis = [...(form.basis ?? []), ...(isHeld ? OF_CHANGES : []), ...(isMaking(entry) ? RANGE : [])];
  expectDetails(audit.details, { ...form, basis }, state, sequence, report);
  const { outcomes = ['success'], actors = CALLERS, agentId, isServices } = form;
  const { actor, outcome } = audit;
  if (!outcomes.includes(outcome)) differ('outcome', outcome);
  const isActor =
    actors.includes(actor.type) &&
    isText(actor.id) &&
    (actor.type !== 'system' || (actor.id === SERVICE_ID && isServices?.(entry, history) !== false)) &&
    mayBePerson(entry);
  if (!isActor) differ('actor', actor);
  if (agentId === undefined ? !isTextOrNull(audit.agentId) : audit.agentId !== agentId(state))
    differ('agentId', audit.agentId);
  if (!entitiesOf(entry, history).includes(audit.entityId)) differ('entityId', audit.entityId);

  /**
   * @param {string} name
   * @param {unknown} value
   */
  function differ(name, value) {
    report.differ(`the service writes no ${audit.action} with the ${name} ${JSON.stringify(value)}`, sequence);
  }
}

/**
 * @param {Json} details
 * @param {Form} form
 * @param {Json} state
 * @param {number} sequence
 * @param {Report} report
 */
function expectDetails(details, { details: detailsOf, basis = [] }, state, sequence, report) {
  const expectedDetails = detailsOf?.(state) ?? {};
  for (const [name, value] of Object.entries(expectedDetails))
    if (value !== undefined) report.expect(`details.${name}`, details[name], value, sequence);
  const missingName = Object.keys(expectedDetails).find((name) => !Object.hasOwn(details, name));
  if (missingName !== undefined) report.differ(`details.${missingName} is missing`, sequence);
  const unknown = Object.keys(details).find((name) => !Object.hasOwn(expectedDetails, name) && !basis.includes(name));
  if (unknown !== undefined) report.differ(`details.${unknown} is not known to this verifier`, sequence);
}

/**
 * An execution may be filed under an entity, the same in all its entries: one that the resource names. A log keeps no
 * resource of old executions, which never changes, nor of erased ones.
 * @param {Json} entry
 * @param {History} history
 * @returns {unknown[]}
 */
function entitiesOf({ subjectType, subjectId, state }, history) {
  const [first] = history.entriesAbout(subjectType, subjectId);
  if (subjectType === 'claim') return [first?.['state'].entityId];
  if (subjectType !== 'execution' || first === undefined) return [null];
  const { entityId } = first['audit'];
  const resourceId = first['state'] === null ? null : (first['state'].resourceId ?? state.resourceId);
  return [entityId === null || resourceId === null ? entityId : entityIn(String(resourceId))];
}

/**
 * True if an agent was changed as the service changes people of a directory itself: their roles follow their groups.
 * @param {Json} entry `agent.updated`
 */
function isOfDirectory({ state, audit }) {
  return (state.directory ?? null) !== null && canonicalJson(audit.details.fields) === canonicalJson(['roles']);
}

/**
 * True if the same commit erases the record. Its contents go a little later, so an export may still have them.
 * @param {Json} entry
 * @param {History} history
 */
function isBeforeErasure({ subjectType, subjectId, sequence, timestamp }, history) {
  return history
    .entriesAbout(subjectType, subjectId)
    .some(
      (entry) =>
        entry['action'] === `${subjectType}.erased` && entry['sequence'] > sequence && entry['timestamp'] === timestamp,
    );
}

/**
 * True of a person whom the directory had suspended before: somebody else suspends them as well, so that the directory
 * resumes them no more.
 * @param {Json} entry
 */
function isSuspendedAgain({ state, timestamp }) {
  return (state.directory ?? null) !== null && state.updatedAt < timestamp;
}

/** @param {Json} state of a policy */
function policyDetails({ id, name, version }) {
  return { policies: [{ id, name, version }] };
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === 'string' && value !== '';
}

/** @param {unknown} value */
function isTextOrNull(value) {
  return value === null || isText(value);
}
