import { hasManyMarks, normalFormC } from './normal-form.mjs';

/**
 * Matches the patterns of policies and of approvers: docs/policies.md, Subjects.
 *
 * @typedef {object} Agent
 * @property {string} [id] absent of an agent that nobody has registered
 * @property {string} [name]
 * @property {string} kind `machine` or `human`
 * @property {readonly string[]} roles
 * @property {string | null} [team]
 */

const PREFIXED = /^([^:]+):(.+)$/su;
/** Control and format characters: a role that has them looks like another one. */
const UNSEEN = /[\p{Cc}\p{Cf}]/u;

/**
 * @param {string} pattern of a policy
 * @param {Agent} agent
 */
export function isMetBy(pattern, agent) {
  if (pattern === '*') return true;
  const [, prefix, rest = ''] = PREFIXED.exec(pattern) ?? [];
  if (prefix === undefined) return isNamed(pattern, agent);
  if (prefix === 'agent') return rest === '*' || isNamed(rest, agent);
  if (prefix === 'kind') return rest === agent.kind;
  if (prefix === 'role') return hasRole(rest, agent);
  // Other types have subjects that are not agents.
  return false;
}

/**
 * True if an approver matches. Among approvers, a pattern that does not name a machine means people.
 * @param {string} pattern
 * @param {Agent} agent
 */
export function isApproverMetBy(pattern, agent) {
  // The pattern stays if the principal is not a registered person; then nobody matches it.
  if (pattern === 'principal') return false;
  const meansPeople = pattern === '*' || pattern === 'agent:*' || pattern.startsWith('role:');
  return isMetBy(pattern, agent) && (!meansPeople || agent.kind === 'human');
}

/**
 * True if a pattern names the agent. Names are stored in normal form C; one in another form would be unique beside its
 * namesake.
 * @param {string} idOrName
 * @param {Agent} agent
 */
function isNamed(idOrName, { id, name }) {
  return (id !== undefined && idOrName === id) || normalFormC(idOrName) === name;
}

/**
 * @param {string} role
 * @param {Agent} agent
 */
function hasRole(role, { roles }) {
  const valid = roles.filter(isName);
  return role === '*' ? valid.length > 0 : isName(role) && valid.includes(role);
}

/**
 * True if a role or a capability has a valid spelling. Others, stored by earlier versions, match nothing.
 * @param {string} text
 */
export function isName(text) {
  return text === text.trim() && !hasManyMarks(text) && text === normalFormC(text) && !UNSEEN.test(text);
}
