import { isPermittedPrincipal } from '../evaluation/principals.mjs';
import { actOf, personOf } from './acts.mjs';
import { OPERATOR } from './narration.mjs';
import { asAgent } from './reviewer.mjs';

/**
 * Checks that callers could do what entries say: an export shows to which agents keys are bound, and what they permit.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./acts.mjs').Act} Act
 * @typedef {import('./key-registry.mjs').Key} Key
 * @typedef {object} LogBefore the log before an entry
 * @property {import('./key-registry.mjs').KeyRegistry} keys
 * @property {{ get(id: string): Json | undefined }} agents as they are
 * @property {{ has(id: string): boolean }} suspendedIds the ids of all agents that are suspended
 * @property {import('./history.mjs').History} history
 */

/** Types of callers that may be bound to a person. */
const BOUND = ['api_key', 'token'];

/** The action with which a handler completes what it began, even if the key of the caller has ended meanwhile. */
const COMPLETING = ['execution.completed'];

/**
 * True if the actor of an entry may have caused it. Some entries can be caused by one person only, with a key or a
 * token of their own.
 * @param {Json} entry
 */
export function mayBePerson(entry) {
  const { type, id } = entry['audit'].actor;
  return personOf(entry) === undefined || (BOUND.includes(type) && id !== OPERATOR);
}

/**
 * Finds what only the log shows: the key of the sender was not in force, was bound to another agent, or does not permit
 * the act; or the agent who alone may do it was no person, or was suspended.
 * @param {Json} entry of the file, before it took place
 * @param {LogBefore} log
 * @returns {string[]} faults
 */
export function senderFaults(entry, log) {
  const act = actOf(entry, log.history);
  if (act === undefined) return [];
  const agentId = act.agentId?.(entry) ?? null;
  const person = act.isPersonal === true ? log.agents.get(agentId ?? '') : undefined;
  return [
    ...(entry['audit'].actor.type === 'api_key' ? keyFaults(entry, act, agentId, log) : []),
    ...(entry['audit'].actor.type === 'token' ? tokenFaults(act, agentId, log) : []),
    ...(act.isPersonal === true && person?.['kind'] !== 'human' ? [`${agentId}, who ${act.text}, is no person`] : []),
    ...(person?.['status'] === 'suspended' ? [`${agentId}, who ${act.text}, was suspended`] : []),
  ];
}

/**
 * Finds an entry, of a module also, that was sent with a key which was not in force: nothing is written for a key that
 * has ended, or whose agent is suspended.
 * @param {Json} entry
 * @param {Pick<LogBefore, 'keys' | 'agents'>} log
 * @returns {string[]} faults
 */
export function endedKeyFaults({ action, timestamp, audit: { actor } }, { keys, agents }) {
  if (actor.type !== 'api_key' || COMPLETING.includes(action)) return [];
  const key = keys.get(actor.id, timestamp);
  if (key === undefined) return [`${action} was sent with the key ${actor.id}, which was not in force`];
  return agents.get(key.agentId ?? '')?.['status'] === 'suspended'
    ? [`${action} was sent with the key ${actor.id} of ${key.agentId}, who was suspended`]
    : [];
}

/**
 * Every token is bound to an agent, and good for nothing while that agent is suspended.
 * @param {Act} act
 * @param {string | null} agentId of the agent that acts
 * @param {LogBefore} log
 * @returns {string[]}
 */
function tokenFaults(act, agentId, { suspendedIds }) {
  if (act.scopes.length > 0 && act.scopes.every((scope) => scope === 'admin'))
    return [`a token, which ${act.text}, had not the scope admin`];
  if (act.agentId === undefined || act.isAdmins === true || act.isPersonal === true) return [];
  if (agentId === null) return [`a token, which ${act.text}, is bound to an agent, and names nobody`];
  return suspendedIds.has(agentId) ? [`${agentId}, who ${act.text}, was suspended`] : [];
}

/**
 * @param {Json} entry
 * @param {Act} act
 * @param {string | null} agentId of the agent that acts
 * @param {LogBefore} log
 * @returns {string[]}
 */
function keyFaults({ timestamp, audit, state }, act, agentId, { keys, agents, suspendedIds }) {
  const { id } = audit.actor;
  const who = `the key ${id}, which ${act.text},`;
  const key = keys.get(id, timestamp);
  if (key === undefined || !isBoundRight(key, id, act, agentId))
    return [`${who} is no key in force that is bound to ${agentId ?? 'nobody'}`];
  const isSuspended = key.agentId !== null && suspendedIds.has(key.agentId);
  const hasScope = act.scopes.length === 0 || act.scopes.some((scope) => key.scopes.has(scope));
  const agent = agents.get(agentId ?? '');
  const isInReach = key.team === null || agent === undefined || asAgent(/** @type {any} */ (agent)).team === key.team;
  return [
    ...(isSuspended ? [`${who} is bound to ${key.agentId}, who was suspended`] : []),
    ...(hasScope ? [] : [`${who} had none of the scopes ${act.scopes.join(', ')}`]),
    ...(isInReach ? [] : [`${who} is of the team ${key.team}, and the agent is not`]),
    ...(act.isOnBehalf === true ? principalFaults(who, key, state.onBehalfOf, agents) : []),
  ];
}

/**
 * @param {Key} key
 * @param {string} id of the key
 * @param {Act} act
 * @param {string | null} agentId of the agent that acts
 */
function isBoundRight({ agentId: bound, scopes }, id, act, agentId) {
  if (act.agentId === undefined || (act.isAdmins === true && scopes.has('admin'))) return true;
  if (bound !== null) return bound === agentId;
  if (act.isPersonal === true) return false;
  return act.isBound !== true || id === OPERATOR;
}

/**
 * @param {string} who
 * @param {Key} key
 * @param {Json | undefined} onBehalfOf
 * @param {LogBefore['agents']} agents
 * @returns {string[]}
 */
function principalFaults(who, { principals }, onBehalfOf, agents) {
  if (onBehalfOf === undefined || principals === null) return [];
  const { subject, roles = [] } = onBehalfOf;
  const state = subject.startsWith('agent:') ? agents.get(subject.slice('agent:'.length)) : undefined;
  const principal = state === undefined ? { subject } : { person: asAgent(/** @type {any} */ (state)) };
  const role = roles.find((/** @type {string} */ name) => !principals.includes(`role:${name}`));
  if (!isPermittedPrincipal(principals, principal)) return [`${who} may not act on behalf of ${subject}`];
  return role === undefined ? [] : [`${who} may not give ${subject} the role ${role}`];
}
