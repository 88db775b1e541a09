import { normalFormC } from './normal-form.mjs';
import { isMetBy } from './subjects.mjs';

/**
 * Matches the principal on whose behalf an agent acts: docs/policies.md, "On whose behalf".
 *
 * @typedef {import('./subjects.mjs').Agent} Agent
 * @typedef {object} Principal either a registered person or another subject
 * @property {Agent & { status?: string }} [person]
 * @property {string} [subject] `<type>:<id>`
 * @property {readonly string[]} [roles]
 */

/**
 * True if the principal matches. A policy that allows needs a matching principal; one that forbids also matches a
 * request without any.
 * @param {{ effect: string, onBehalfOf?: readonly string[] | null }} policy
 * @param {Principal | null} principal
 */
export function isOnBehalf({ effect, onBehalfOf }, principal) {
  if (onBehalfOf === undefined || onBehalfOf === null || onBehalfOf.length === 0) return true;
  if (principal === null) return effect !== 'allow';
  return onBehalfOf.some((pattern) => isPrincipalMet(pattern, principal));
}

/**
 * The type and the id of a principal, in normal form C; a registered person has the type `agent`.
 * @param {Principal} principal
 * @returns {{ type: string, id: string }}
 */
export function principalParts({ person, subject = '' }) {
  if (person !== undefined) return { type: 'agent', id: person.id ?? '' };
  const colon = subject.indexOf(':');
  return { type: normalFormC(subject.slice(0, colon)), id: normalFormC(subject.slice(colon + 1)) };
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
  return [subject, `${type}:*`].includes(normalFormC(pattern));
}

/**
 * True if the patterns of a key match the principal on whose behalf its holder acts. Only the holder knows the roles of
 * a principal who is not registered, so they match nothing.
 * @param {readonly string[]} patterns
 * @param {Principal} principal
 */
export function isPermittedPrincipal(patterns, principal) {
  return patterns.some((pattern) => isPrincipalMet(pattern, { ...principal, roles: [] }));
}
