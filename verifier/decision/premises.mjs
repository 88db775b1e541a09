/**
 * Finds entries about access and passkeys that the service writes of nobody, as far as only a whole log shows it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} LogBefore the log before an entry
 * @property {import('./key-registry.mjs').KeyRegistry} keys
 * @property {import('./passkey-registry.mjs').PasskeyRegistry} passkeys
 * @property {import('./log-history.mjs').LogHistory} history
 */

/**
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]} faults
 */
export function premiseFaults(entry, log) {
  if (entry['action'] === 'agent.access_reviewed') return accessFaults(entry, log);
  return entry['action'] === 'passkey.removed' ? removalFaults(entry, log) : [];
}

/**
 * Finds a review of access under other rules, and one of one's own.
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]}
 */
function accessFaults({ subjectId, audit: { details } }, { history }) {
  return [
    ...history.ruleSets.faultsOf(details.rules),
    ...(details.reviewedBy === subjectId ? [`${subjectId} reviewed its own access`] : []),
  ];
}

/**
 * Finds a passkey that was not there, or was removed for or by somebody else.
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]}
 */
function removalFaults({ subjectId, timestamp, audit: { actor, agentId } }, { keys, passkeys }) {
  const person = passkeys.personOf(subjectId);
  if (person !== agentId)
    return [`the passkey ${subjectId} is registered for ${person ?? 'nobody'}, not for ${agentId}`];
  const key = actor.type === 'api_key' ? keys.get(actor.id, timestamp) : undefined;
  const isPermitted =
    key === undefined || key.agentId === person || ['admin', 'directory'].some((scope) => key.scopes.has(scope));
  return isPermitted ? [] : [`the key ${actor.id} may not remove the passkey ${subjectId} of ${person}`];
}
