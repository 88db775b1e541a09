import { matchesAction } from './actions.mjs';

/**
 * Checks what a stop covers: docs/api-decisions.md, "Stops".
 *
 * @typedef {object} Stop
 * @property {string | null} agentId
 * @property {string | null} role
 * @property {readonly string[]} actions
 * @property {string} status
 */

/**
 * @param {Readonly<Record<string, any>>} stop
 * @param {{ id: string, roles: readonly string[] }} agent
 * @param {string} action
 */
export function isStopping({ agentId, role, actions, status }, agent, action) {
  if (status !== 'active') return false;
  if (agentId !== null && agentId !== agent.id) return false;
  if (role !== null && !agent.roles.includes(role)) return false;
  return actions.length === 0 || actions.some((/** @type {string} */ pattern) => matchesAction(pattern, action));
}
