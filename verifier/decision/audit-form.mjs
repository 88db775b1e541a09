import { entityIn } from '../evaluation/resources.mjs';

/**
 * What the service writes about each action besides its details, as docs/api-decisions.md#audit says: the outcome, who asked for it,
 * and the agent and the entity that it is filed under. Nobody decides by these, but people search the trail by them.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {object} Form
 * @property {readonly string[]} [outcomes]
 * @property {readonly string[]} [actors]
 * @property {(state: Json) => unknown} [agentId]
 * @property {boolean} [reason] whether it has one: that of a caller, or one that is recomputed elsewhere
 * @property {(state: Json) => Readonly<Record<string, unknown>>} [details] what they have to be
 * @property {readonly string[]} [basis] the names of details that are recomputed elsewhere
 * @property {readonly string[]} [times] the members that have the time of the entry
 * @property {Readonly<Record<string, unknown>>} [state] what members have to be
 */

const CALLERS = ['api_key', 'token', 'slack'];
const SERVICE = ['system'];
/** The id of the service as an actor. */
const SERVICE_ID = 'service';

/** @param {Json} state */
const own = (state) => state['id'];
/** @param {Json} state */
const acting = (state) => state['agentId'];
/** @param {Json} state */
const proposing = (state) => state['proposedBy'];

/** @param {Json} state of an execution */
const executing = ({ action, resourceType, resourceId, decisionId, policies }) => ({
  action,
  resourceType,
  resourceId,
  policies: policies.map((/** @type {Json} */ { id, name, version }) => ({ id, name, version })),
  ...(decisionId !== null && { decisionId }),
});
/** @param {Json} state of a decision */
const counting = ({ reviews, requiredApprovals }) => ({
  approvals: reviews.filter((/** @type {Json} */ { verdict }) => verdict === 'approve').length,
  requiredApprovals,
});
/** @param {Json} state of a decision */
const reviewing = (state) => ({ ...counting(state), verdict: state['reviews'].at(-1)?.verdict });
/** @param {Json} state of a grant */
const ending = ({ decisionId }) => ({ decisionId });

/** Details that name what an execution was decided by: they are recomputed with it. */
const BASIS = [
  ...['policySet', 'rules', 'agentRevision', 'principalRevision', 'grantId', 'stopId', 'audience', 'observed'],
  ...['used', 'limited', 'earlier', 'claims', 'zones', 'approvers', 'repeats'],
];
const REVIEW_BASIS = ['rules', 'approverRevision'];
const DECIDED = { details: executing, basis: BASIS };
/** A refused resume changes no execution: the policies that decided it are recomputed with it. */
const DENIED = { ...DECIDED, details: (/** @type {Json} */ state) => ({ ...executing(state), policies: undefined }) };
const SETTLED = { details: executing };
const REVIEWED = { details: reviewing, basis: REVIEW_BASIS, times: ['updatedAt'] };
/** @param {string} verdict */
const refused = (verdict) => ({
  outcomes: ['denied'],
  details: () => ({ verdict }),
  basis: ['policies'],
  reason: true,
});

/** By action; unless it says otherwise, a caller was successful. @type {Readonly<Record<string, Form>>} */
const FORMS = {
  'agent.created': { agentId: own, times: ['createdAt', 'updatedAt'], state: { status: 'active', revision: 1 } },
  'agent.updated': { agentId: own, times: ['updatedAt'], basis: ['fields'] },
  'agent.suspended': { agentId: own, times: ['updatedAt'], state: { status: 'suspended' }, reason: true },
  'agent.resumed': { agentId: own, times: ['updatedAt'], state: { status: 'active' }, reason: true },
  'decision.proposal_denied': { outcomes: ['denied'], agentId: own, basis: ['riskLevel'], reason: true },
  'execution.authorized': { agentId: acting, ...DECIDED },
  'execution.denied': { outcomes: ['denied'], agentId: acting, ...DECIDED, reason: true },
  'execution.approval_requested': { agentId: acting, ...DECIDED },
  'execution.approved': { agentId: acting, ...SETTLED, basis: ['reviewerId'] },
  'execution.rejected': { agentId: acting, ...SETTLED, basis: ['reviewerId'] },
  'execution.expired': { actors: SERVICE, agentId: acting, ...SETTLED },
  'execution.cancelled': { agentId: acting, ...SETTLED, reason: true },
  'execution.resumed': { agentId: acting, ...DECIDED },
  'execution.resume_denied': { outcomes: ['denied'], agentId: acting, ...DENIED, reason: true },
  'execution.completed': { outcomes: ['success', 'failed'], agentId: acting, ...SETTLED, reason: true },
  'execution.interrupted': { outcomes: ['failed'], actors: SERVICE, agentId: acting, ...SETTLED },
  'decision.proposed': {
    agentId: proposing,
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
    details: (state) => ({ ...counting(state), expiresAt: state['expiresAt'] }),
  },
  'decision.cancelled': { agentId: proposing, times: ['updatedAt'], details: counting, reason: true },
  'decision.approval_denied': refused('approve'),
  'decision.rejection_denied': refused('reject'),
  'claim.added': { agentId: () => null, times: ['createdAt'] },
  'grant.created': {
    agentId: acting,
    times: ['createdAt'],
    details: ({ decisionId, until, uses }) => ({ decisionId, until, uses }),
  },
  'grant.used_up': { agentId: acting, details: ending },
  'grant.expired': { actors: SERVICE, agentId: acting, details: ending },
  'grant.revoked': { agentId: acting, details: ending, reason: true },
  'passkey.registered': { actors: ['api_key', 'token'], agentId: acting, times: ['createdAt'] },
  'stop.created': { times: ['createdAt'], state: { status: 'active', liftedAt: null } },
  'stop.lifted': { times: ['liftedAt'], state: { status: 'lifted' }, reason: true },
};

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function expectAuditForm({ sequence, timestamp, subjectType, subjectId, state, audit }, history, report) {
  const form = Object.hasOwn(FORMS, audit.action) ? FORMS[audit.action] : undefined;
  if (form === undefined) return;
  for (const name of form.times ?? []) report.expect(name, state[name], timestamp, sequence);
  for (const [name, value] of Object.entries(form.state ?? {})) report.expect(name, state[name], value, sequence);
  if (form.reason === undefined) report.expect('the reason of the entry', audit.reason, null, sequence);
  expectDetails(audit.details, form, state, sequence, report);
  const { outcomes = ['success'], actors = CALLERS, agentId } = form;
  const { actor, outcome } = audit;
  if (!outcomes.includes(outcome)) differ('outcome', outcome);
  const isActor =
    actors.includes(actor.type) && isText(actor.id) && (actor.type !== 'system' || actor.id === SERVICE_ID);
  if (!isActor) differ('actor', actor);
  if (agentId === undefined ? !isTextOrNull(audit.agentId) : audit.agentId !== agentId(state))
    differ('agentId', audit.agentId);
  if (!entitiesOf(subjectType, subjectId, history).includes(audit.entityId)) differ('entityId', audit.entityId);

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
  const expected = detailsOf?.(state) ?? {};
  for (const [name, value] of Object.entries(expected))
    if (value !== undefined) report.expect(`details.${name}`, details[name], value, sequence);
  const missing = Object.keys(expected).find((name) => !Object.hasOwn(details, name));
  if (missing !== undefined) report.differ(`details.${missing} is missing`, sequence);
  const unknown = Object.keys(details).find((name) => !Object.hasOwn(expected, name) && !basis.includes(name));
  if (unknown !== undefined) report.differ(`details.${unknown} is not known to this verifier`, sequence);
}

/**
 * An execution may be filed under an entity, the same in all its entries: one that the resource names.
 * @param {string} subjectType
 * @param {string} subjectId
 * @param {History} history
 * @returns {unknown[]}
 */
function entitiesOf(subjectType, subjectId, { entries }) {
  const first = entries.find((entry) => entry['subjectId'] === subjectId);
  if (subjectType === 'claim') return [first?.['state'].entityId];
  if (subjectType !== 'execution' || first === undefined) return [null];
  const { entityId } = first['audit'];
  return [entityId === null ? null : entityIn(String(first['state'].resourceId))];
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === 'string' && value !== '';
}

/** @param {unknown} value */
function isTextOrNull(value) {
  return value === null || isText(value);
}
