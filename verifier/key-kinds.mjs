/**
 * The keys that the service issues: docs/api-decisions.md, "Scopes", "Bound callers" and "Teams".
 *
 * @typedef {import('./entry-check.mjs').JsonObject} JsonObject
 */

/** Scopes that no other goes with. */
const LONE = ['report', 'directory'];
const OF_TEAMS = ['read', 'agents', 'policies', 'execute'];

/**
 * Finds a key that the service issues to nobody: an agent's own could report what a gateway served, and a person's
 * administer others.
 * @param {JsonObject} entry
 * @param {JsonObject} state
 * @returns {string[]}
 */
export function keyFaults({ action }, { scopes, agentId, team = null }) {
  if (action !== 'api_key.created') return [];
  const names = Array.isArray(scopes) ? scopes : [];
  const lone = LONE.find((scope) => names.includes(scope));
  const isTeams = team !== null;
  const isBound = agentId !== null;
  return [
    ...(lone !== undefined && names.length > 1 ? [`a key has the scope ${lone} beside others`] : []),
    ...(isBound && lone !== undefined ? [`a key with the scope ${lone} is bound`] : []),
    ...(isBound && names.includes('admin') ? ['a key with the scope admin is bound'] : []),
    ...(isBound && isTeams ? ['the key of a team is bound'] : []),
    ...(isTeams && !names.every((scope) => OF_TEAMS.includes(scope))
      ? ['the key of a team has a scope that no team has']
      : []),
  ];
}
