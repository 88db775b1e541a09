/**
 * What callers do, with the scopes and the agent that each act needs: docs/api-decisions.md, "Keys" and "Bound
 * callers".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} Act
 * @property {string} text what the caller does, with a verb
 * @property {readonly string[]} scopes of which the key needs one, unless there are none
 * @property {(entry: Json) => string | null} [agentId] of the agent that acts, null for nobody; absent if any caller
 *   may act
 * @property {boolean} [isPersonal] whether nobody else may do it, not even the operator
 * @property {boolean} [isBound] whether a key that is bound to nobody may not do it; the operator may
 * @property {boolean} [isAdmins] whether a key with `admin` may do it for others, whoever it is bound to
 * @property {boolean} [isOnBehalf] whether the key has to permit the principal of the execution
 */

/** @param {Json} entry */
const ownerId = ({ state }) => state.agentId;
/** @param {Json} entry of a review */
const reviewerId = ({ state }) => state.reviews?.at(-1)?.approverId ?? null;
/** @param {Json} entry of a review that was refused */
const refusedId = ({ audit }) => audit.agentId;
/** @param {Json} entry */
const proposerId = ({ state }) => state.proposedBy;

/** @type {Act} */
const REQUEST = { text: 'requested the execution', scopes: ['execute'], agentId: ownerId, isOnBehalf: true };
/** @type {Act} */
const RESUME = { ...REQUEST, text: 'resumed the execution' };
/** @type {Act} */
const REVIEW = { text: 'reviewed the decision', scopes: ['review'], agentId: reviewerId, isBound: true };
/** @type {Act} */
const REFUSED_REVIEW = { ...REVIEW, agentId: refusedId };
/** @type {Act} */
const REPORT = { text: 'reported the result', scopes: ['execute'], agentId: ownerId };
/** A gateway’s key is bound to nobody. @type {Act} */
const GATEWAY_REPORT = { text: REPORT.text, scopes: ['report'] };
/** @type {Act} */
const PROPOSAL = { text: 'proposed the decision', scopes: ['propose'], agentId: proposerId };
/** @param {string} text @returns {Act} */
const adminsAct = (text) => ({ text, scopes: ['admin'] });
/** A decision is cancelled by who proposed it, and its execution with it. @type {Act} */
const CANCELLATION = { text: 'cancelled the execution', scopes: ['execute', 'propose'], agentId: ownerId };

/** Maps actions to acts. @type {Readonly<Record<string, Act>>} */
const ACTS = {
  'passkey.registered': { text: 'registered the passkey', scopes: ['review'], agentId: ownerId, isPersonal: true },
  'delegation.created': { text: 'made the delegation', scopes: ['review'], agentId: ownerId, isPersonal: true },
  'agent.access_reviewed': {
    text: 'reviewed the access',
    scopes: ['review'],
    agentId: ({ audit }) => audit.details.reviewedBy,
    isPersonal: true,
  },
  'delegation.ended': {
    text: 'ended the delegation',
    scopes: ['review'],
    agentId: ownerId,
    isBound: true,
    isAdmins: true,
  },
  'grant.revoked': { text: 'revoked the grant', scopes: ['review'] },
  'api_key.created': adminsAct('issued the key'),
  'api_key.revoked': adminsAct('revoked the key'),
  'webhook.created': adminsAct('created the webhook'),
  'webhook.updated': adminsAct('changed the webhook'),
  'webhook.deleted': adminsAct('deleted the webhook'),
  'erasure.begun': adminsAct('began the erasure'),
  'stop.created': { text: 'made the stop', scopes: ['review'] },
  'stop.lifted': { text: 'lifted the stop', scopes: ['review'] },
  // A directory removes the passkeys of people whom it deletes.
  'passkey.removed': { text: 'removed the passkey', scopes: ['review', 'directory'] },
  'execution.authorized': REQUEST,
  'execution.denied': REQUEST,
  'execution.approval_requested': REQUEST,
  'execution.resumed': RESUME,
  'execution.resume_denied': RESUME,
  'execution.cancelled': CANCELLATION,
  'decision.reviewed': REVIEW,
  'decision.approved': REVIEW,
  'decision.rejected': REVIEW,
  'decision.approval_denied': REFUSED_REVIEW,
  'decision.rejection_denied': REFUSED_REVIEW,
};

/**
 * Finds the act of a caller that caused an entry.
 * @param {Json} entry
 * @param {import('./history.mjs').History} history
 * @returns {Act | undefined} undefined if callers of any kind may have caused it
 */
export function actOf(entry, history) {
  const { subjectType, audit, state, sequence } = entry;
  const { action, actor } = audit;
  if (action === 'execution.completed') {
    const before = history.stateBefore(history.entriesAbout('execution', state.id), sequence);
    // A handler completes what it began, even if the key has ended meanwhile.
    if (before?.['outcome'] === 'running' || actor.type === 'system') return undefined;
    return state.via === undefined ? REPORT : GATEWAY_REPORT;
  }
  if (action === 'decision.cancelled') return cancellationOf(state, actor);
  if (action === 'decision.proposed') return proposalOf(state);
  const act = Object.hasOwn(ACTS, action) ? ACTS[action] : undefined;
  // Whoever holds a key may reject a change, and review a decision for which no execution waits.
  const isForExecution = subjectType !== 'decision' || state.executionId !== undefined;
  return act?.isBound === true && !isForExecution ? { ...act, isBound: false } : act;
}

/**
 * Returns the act of who proposed a decision. The scopes that a change needs are those of its path.
 * @param {Json} decision
 * @returns {Act}
 */
function proposalOf({ executionId, change }) {
  if (executionId !== undefined) return { ...PROPOSAL, scopes: ['execute'] };
  return change === undefined ? PROPOSAL : { ...PROPOSAL, text: 'proposed the change', scopes: [] };
}

/**
 * Returns the act of who cancelled a decision. A change is cancelled by the caller who proposed it, whatever its
 * scopes, or by an admin.
 * @param {Json} decision
 * @param {Json} sender
 * @returns {Act}
 */
function cancellationOf({ change, actor }, sender) {
  if (change === undefined) return { ...CANCELLATION, text: 'cancelled the decision', agentId: proposerId };
  const isProposer = actor?.type === sender['type'] && actor.id === sender['id'];
  return { text: 'cancelled the change', scopes: isProposer ? [] : ['admin'] };
}

/**
 * Returns the person who alone can have caused an entry.
 * @param {Json} entry
 * @returns {string | null | undefined} undefined where others may have caused it
 */
export function personOf(entry) {
  const { action } = entry['audit'];
  const act = Object.hasOwn(ACTS, action) ? ACTS[action] : undefined;
  return act?.isPersonal === true ? act.agentId?.(entry) : undefined;
}
