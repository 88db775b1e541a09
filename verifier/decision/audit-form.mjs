import { entityIn } from '../evaluation/resources.mjs';

/**
 * What the service writes about each action besides its details, as docs/api-decisions.md#audit says: the outcome, who asked for it,
 * and the agent and the entity that it is filed under. Nobody decides by these, but people search the trail by them.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {{ outcomes?: readonly string[], actors?: readonly string[], agentId?: (state: Json) => unknown }} Form
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

/** By action; unless it says otherwise, a caller was successful. @type {Readonly<Record<string, Form>>} */
const FORMS = {
  'agent.created': { agentId: own },
  'agent.updated': { agentId: own },
  'agent.suspended': { agentId: own },
  'agent.resumed': { agentId: own },
  'decision.proposal_denied': { outcomes: ['denied'], agentId: own },
  'execution.authorized': { agentId: acting },
  'execution.denied': { outcomes: ['denied'], agentId: acting },
  'execution.approval_requested': { agentId: acting },
  'execution.approved': { agentId: acting },
  'execution.rejected': { agentId: acting },
  'execution.expired': { actors: SERVICE, agentId: acting },
  'execution.cancelled': { agentId: acting },
  'execution.resumed': { agentId: acting },
  'execution.resume_denied': { outcomes: ['denied'], agentId: acting },
  'execution.completed': { outcomes: ['success', 'failed'], agentId: acting },
  'execution.interrupted': { outcomes: ['failed'], actors: SERVICE, agentId: acting },
  'decision.proposed': { agentId: proposing },
  'decision.reviewed': {},
  'decision.approved': {},
  'decision.rejected': {},
  'decision.expired': { actors: SERVICE, agentId: () => null },
  'decision.cancelled': { agentId: proposing },
  'decision.approval_denied': { outcomes: ['denied'] },
  'decision.rejection_denied': { outcomes: ['denied'] },
  'claim.added': { agentId: () => null },
  'grant.created': { agentId: acting },
  'grant.used_up': { agentId: acting },
  'grant.expired': { actors: SERVICE, agentId: acting },
  'grant.revoked': { agentId: acting },
  'passkey.registered': { agentId: acting },
  'stop.created': {},
  'stop.lifted': {},
};

/**
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function expectAuditForm({ sequence, subjectType, subjectId, state, audit }, history, report) {
  const form = Object.hasOwn(FORMS, audit.action) ? FORMS[audit.action] : undefined;
  if (form === undefined) return;
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
