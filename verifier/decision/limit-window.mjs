import { isObject } from '../entry-check.mjs';
import { isDigest } from '../evaluation/limits.mjs';

/**
 * Compares the uses of limits in a decision file with the log.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/**
 * Returns the uses of limits that the entries of a file name, each with the sequence of its entry, and the hash of its
 * request.
 * @param {readonly Json[]} entries
 * @returns {Json[]}
 */
export function limitUsesIn(entries) {
  return entries.flatMap(({ sequence, audit, state }) => {
    const { used = [], limited = [] } = audit.details ?? {};
    const uses = [used, limited].flatMap((list) => (Array.isArray(list) ? list : []));
    return uses.filter(isObject).map((use) => ({ ...use, sequence, actionHash: state?.actionHash }));
  });
}

/**
 * True if an execution that an entry of the log authorised may count in what was used before.
 * @param {Json} use
 * @param {Json} entry
 */
export function mayCount({ sequence: before, window, key }, { sequence, timestamp, audit }) {
  const isOfAgent = key === null || isDigest(key) || key === audit.agentId;
  return sequence < before && timestamp >= window && isOfAgent;
}

/**
 * Finds uses of the file that may not count an equal earlier request, because that request has another digest, for
 * example after a change of the service's key.
 * @param {Json} entry that authorised an execution
 * @param {readonly Json[]} limitUses of the file
 * @returns {import('./report.mjs').Difference[]}
 */
export function equalRequestGaps({ sequence, timestamp, subjectId, audit, state }, limitUses) {
  const digests = limitUsesIn([{ sequence, audit, state }])
    .map(({ key }) => key)
    .filter(isDigest);
  if (digests.length === 0) return [];
  return limitUses
    .filter(({ actionHash, key }) => actionHash === state.actionHash && isDigest(key) && !digests.includes(key))
    .filter(({ sequence: later, window }) => sequence < later && timestamp >= window)
    .map(({ sequence: later }) => ({
      sequence: later,
      difference: `the equal request ${subjectId} has another digest, so whether its use counts is not known`,
    }));
}
