import { isMetBy } from './subjects.mjs';

/**
 * On whose behalf an agent acts: docs/policies.md, "On whose behalf".
 *
 * @typedef {import('./subjects.mjs').Agent} Agent
 * @typedef {object} Principal either a registered person or another subject
 * @property {Agent & { status?: string }} [person]
 * @property {string} [subject] `<type>:<id>`
 * @property {readonly string[]} [roles]
 */

/**
 * An allow needs a principal that one of its patterns meets; a rule that forbids is not evaded by naming none.
 * @param {{ effect: string, onBehalfOf?: readonly string[] | null }} policy
 * @param {Principal | null} principal
 */
export function isOnBehalf({ effect, onBehalfOf }, principal) {
  if (onBehalfOf === undefined || onBehalfOf === null || onBehalfOf.length === 0) return true;
  if (principal === null) return effect !== 'allow';
  return onBehalfOf.some((pattern) => isPrincipalMet(pattern, principal));
}

/**
 * @param {string} pattern
 * @param {Principal} principal
 */
function isPrincipalMet(pattern, { person, subject = '', roles = [] }) {
  if (pattern === '*') return true;
  if (person !== undefined) return isMetBy(pattern, person);
  if (pattern.startsWith('role:')) return roles.includes(pattern.slice('role:'.length));
  const type = subject.slice(0, subject.indexOf(':'));
  return pattern.normalize() === subject || pattern.normalize() === `${type}:*`;
}
