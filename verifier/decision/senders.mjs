import { OPERATOR } from './narration.mjs';

/**
 * As which agent a caller acts: a key or token that is bound to an agent acts as this one only. An export shows the agents of keys.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} Act
 * @property {string} text what the caller does, with a verb
 * @property {(entry: Json) => string | null} agentId of the agent that acts; null for nobody
 * @property {boolean} [isPersonal] whether nobody else may do it, not even the operator
 */

/** @param {Json} entry */
const ownerId = ({ state }) => state.agentId;
/** @param {Json} entry of a review */
const reviewerId = ({ state }) => state.reviews?.at(-1)?.approverId ?? null;

const REQUEST = { text: 'requested the execution', agentId: ownerId };
const RESUME = { text: 'resumed the execution', agentId: ownerId };
const REVIEW = { text: 'reviewed the decision', agentId: reviewerId };

/** By action. @type {Readonly<Record<string, Act>>} */
const ACTS = {
  'passkey.registered': { text: 'registered the passkey', agentId: ownerId, isPersonal: true },
  'delegation.created': { text: 'made the delegation', agentId: ownerId, isPersonal: true },
  'agent.access_reviewed': {
    text: 'reviewed the access',
    agentId: ({ audit }) => audit.details.reviewedBy,
    isPersonal: true,
  },
  'delegation.ended': { text: 'ended the delegation', agentId: ownerId },
  'execution.authorized': REQUEST,
  'execution.denied': REQUEST,
  'execution.approval_requested': REQUEST,
  'execution.resumed': RESUME,
  'execution.resume_denied': RESUME,
  'decision.reviewed': REVIEW,
  'decision.approved': REVIEW,
  'decision.rejected': REVIEW,
};

/** Types of callers that may be bound to a person. */
const BOUND = ['api_key', 'token'];

/**
 * @param {Json} entry
 * @returns {Act | undefined}
 */
function actOf({ audit }) {
  return Object.hasOwn(ACTS, audit.action) ? ACTS[audit.action] : undefined;
}

/**
 * Returns the person who alone can have caused an entry.
 * @param {Json} entry
 * @returns {string | null | undefined} undefined where others may have caused it
 */
export function personOf(entry) {
  const act = actOf(entry);
  return act?.isPersonal === true ? act.agentId(entry) : undefined;
}

/**
 * True if an actor may be the person who alone can have caused an entry, or others may have caused it as well.
 * @param {Json} entry
 */
export function mayBePerson(entry) {
  const { type, id } = entry['audit'].actor;
  return actOf(entry)?.isPersonal !== true || (BOUND.includes(type) && id !== OPERATOR);
}

/**
 * Finds what only the log shows: the sender was bound to another agent, or to nobody where only a person may do it; or that person was
 * none, or suspended.
 * @param {Json} entry of the file, before it took place
 * @param {ReadonlyMap<string, string | null>} keys the agents to which keys in force are bound
 * @param {ReadonlyMap<string, Json>} agents that the file names, as they are
 * @returns {string[]} faults
 */
export function senderFaults(entry, keys, agents) {
  const act = actOf(entry);
  if (act === undefined) return [];
  const { text, agentId: agentIdOf, isPersonal = false } = act;
  const agentId = agentIdOf(entry);
  const { type, id } = entry['audit'].actor;
  const bound = keys.get(id);
  const isRight = bound === agentId || (!isPersonal && (bound === null || id === OPERATOR));
  const person = agents.get(agentId ?? '');
  return [
    ...(type === 'api_key' && !isRight
      ? [`the key ${id}, which ${text}, is no key in force that is bound to ${agentId ?? 'nobody'}`]
      : []),
    ...(isPersonal && person?.['kind'] !== 'human' ? [`${agentId}, who ${text}, is no person`] : []),
    ...(isPersonal && person?.['status'] === 'suspended' ? [`${agentId}, who ${text}, was suspended`] : []),
  ];
}
