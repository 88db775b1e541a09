import { isObject } from '../entry-check.mjs';

/**
 * What a decision file says of limits, compared with the log.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/**
 * Returns the uses of limits that the entries of a file name, each with the sequence of its entry.
 * @param {readonly Json[]} entries
 * @returns {Json[]}
 */
export function limitUsesIn(entries) {
  return entries.flatMap(({ sequence, audit }) => {
    const { used = [], limited = [] } = audit.details ?? {};
    const uses = [used, limited].flatMap((list) => (Array.isArray(list) ? list : []));
    return uses.filter(isObject).map((use) => ({ ...use, sequence }));
  });
}

/**
 * True if an execution that an entry of the log authorised may count in what was used before.
 * @param {Json} use
 * @param {Json} entry
 */
export function mayCount({ sequence: before, window, key }, { sequence, timestamp, audit }) {
  const isOfAgent = !String(key).startsWith('agt_') || key === audit.agentId;
  return sequence < before && timestamp >= window && isOfAgent;
}
