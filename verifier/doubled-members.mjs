import { canonicalJson } from './canonical-json.mjs';
import { AUTHORISING } from './decision/history.mjs';
import { short } from './decision/report.mjs';
import { isObject } from './entry-check.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * Maps kinds to the members that the state always has and the details may repeat.
 * @type {Readonly<Record<string, string[]>>}
 */
const DOUBLED = {
  execution: ['action', 'resourceType', 'resourceId', 'decisionId'],
  decision: ['riskLevel', 'requiredApprovals', 'expiresAt'],
  grant: ['decisionId', 'until', 'uses'],
};
/** Kinds whose entries have the `agentId` of their state as `audit.agentId`. */
const OF_AGENTS = ['execution', 'grant', 'delegation', 'passkey'];

/**
 * Finds members whose values differ in the details and the state of an entry. Uses are counted by one of the two, so
 * the other could hide a use.
 * @param {JsonObject} entry
 * @returns {string[]} its faults
 */
export function disagreements({ subjectType, action, audit, state }) {
  if (!isObject(audit) || !isObject(audit['details']) || !isObject(state)) return [];
  const { details, agentId } = audit;
  const kind = String(subjectType);
  const names = (Object.hasOwn(DOUBLED, kind) ? DOUBLED[kind] : undefined) ?? [];
  const pairs = names
    .filter((name) => Object.hasOwn(details, name))
    .map((name) => /** @type {const} */ ([name, details[name], state[name]]));
  const isOfAgent = OF_AGENTS.includes(kind) && Object.hasOwn(state, 'agentId');
  const isAuthorising = AUTHORISING.includes(String(action));
  return [
    ...(isOfAgent ? faultOf('audit.agentId', agentId, state['agentId']) : []),
    ...pairs.flatMap(([name, value, other]) => faultOf(`details.${name}`, value, other)),
    ...(isAuthorising ? authorisationFaults(details, state) : []),
  ];
}

/**
 * Compares members that details and state either both have or both lack.
 * @param {JsonObject} details
 * @param {JsonObject} execution
 */
function authorisationFaults({ grantId, observed = false, policies = [] }, execution) {
  const { policies: decidingPolicies = [] } = execution;
  const references = Array.isArray(decidingPolicies)
    ? decidingPolicies.filter(isObject).map(({ id, name, version }) => ({ id, name, version }))
    : decidingPolicies;
  return [
    ...faultOf('details.grantId', grantId, execution['grantId']),
    ...faultOf('details.observed', observed, execution['observed'] ?? false),
    ...faultOf('details.policies', policies, references),
  ];
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {unknown} other
 */
function faultOf(name, value, other) {
  return canonicalJson(value ?? null) === canonicalJson(other ?? null)
    ? []
    : [`${name} is ${short(value)}, and the state has another: ${short(other)}`];
}
