/**
 * The keys that the service issues: docs/api-decisions.md, "Scopes", "Bound callers" and "Teams".
 *
 * @typedef {import('./entry-check.mjs').JsonObject} JsonObject
 */

/** Scopes that no other goes with. */
const LONE = ['report', 'directory'];
const OF_TEAMS = ['read', 'agents', 'policies', 'execute'];

/**
 * Finds a key that the service issues to nobody, as an agent's own could report what a gateway served, and a person's
 * administer others; and one that ended otherwise than keys do.
 * @param {JsonObject} entry
 * @param {JsonObject} state
 * @returns {string[]}
 */
export function keyFaults(entry, state) {
  return entry['action'] === 'api_key.created' ? kindFaults(state) : endFaults(entry, state);
}

/**
 * @param {JsonObject} state of a new key
 * @returns {string[]}
 */
function kindFaults({ scopes, agentId, team = null }) {
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

/**
 * Finds a key that is said to have ended at another time than it did.
 * @param {JsonObject} entry
 * @param {JsonObject} state
 * @returns {string[]}
 */
function endFaults({ action, timestamp }, { expiresAt, revokedAt }) {
  if (action === 'api_key.revoked' && revokedAt !== timestamp) return ['the key has another time of its revocation'];
  const isDue = typeof expiresAt === 'string' && expiresAt <= String(timestamp);
  return action === 'api_key.expired' && !isDue ? ['the key expired before its time'] : [];
}
