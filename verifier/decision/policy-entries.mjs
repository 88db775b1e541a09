import { hashOf } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { isAmount, isWarnedOf } from '../evaluation/limits.mjs';
import { AUTHORISING } from './history.mjs';
import { OF_POLICIES } from './made-requests.mjs';

/**
 * Finds entries about policies that say other than the log: which policies were in force after them, and which
 * executions have nearly used a limit.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./log-history.mjs').LogHistory} LogHistory
 */

const WARNED = 'policy.limit_warned';

/**
 * @param {Json} entry
 * @param {LogHistory} history which knows the entry
 * @returns {string[]} faults
 */
export function policyFaults(entry, history) {
  if (entry['action'] === WARNED) return warningFaults(entry, history);
  return OF_POLICIES.includes(entry['action']) ? setFaults(entry, history) : [];
}

/**
 * Finds another set of policies than that in force after the commit, which all its entries about policies name.
 * @param {Json} entry
 * @param {LogHistory} history
 * @returns {string[]}
 */
function setFaults({ sequence, audit }, history) {
  const { policySet } = audit.details;
  const { policies } = history;
  const next = history.entryOfThisTime(sequence + 1);
  if (OF_POLICIES.includes(next?.['action']) && next?.['audit'].details.policySet === policySet) return [];
  return policySet === hashOf(policies.map(({ id }) => id))
    ? []
    : [`details.policySet is not that of the ${policies.length} policies that were in force after it`];
}

/**
 * Finds a warning that no execution of its commit has caused.
 * @param {Json} entry
 * @param {LogHistory} history
 * @returns {string[]}
 */
function warningFaults({ subjectId, state, audit, timestamp }, { entries }) {
  const limit = state.limits?.[audit.details.limit];
  const warned = hashOf(audit.details);
  const isCause = (/** @type {Json} */ { action, audit: { agentId, details } }) =>
    AUTHORISING.includes(action) &&
    agentId === audit.agentId &&
    (details.used ?? []).some((/** @type {Json} */ use) => hashOf(use) === warned);
  const { policyId, before, amount } = audit.details;
  if (policyId !== subjectId) return [`the warning is about the policy ${policyId}, not ${subjectId}`];
  if (limit === undefined || !isAmount(before) || !isAmount(amount) || !isWarnedOf(limit, { before, amount }))
    return ['the warning is about no use that took a limit to 80 %'];
  // What an erased execution used is not known.
  return entries.some((one) => (isErased(one) && AUTHORISING.includes(one['action'])) || isCause(one))
    ? []
    : [`no execution of ${timestamp} has the use that the warning names`];
}
