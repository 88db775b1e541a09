import { canonicalJson } from '../canonical-json.mjs';
import { isApproverMetBy } from '../evaluation/subjects.mjs';

/** @typedef {import('./read-file.mjs').Json} Json */

/**
 * An agent as the rules see it: of an earlier version it may lack its kind.
 * @param {Json} state
 */
export function asAgent({ id, name, kind = 'machine', roles, status, capabilities, observeUntil }) {
  return { id, name, kind, roles, status, capabilities, observeUntil };
}

/**
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} groups
 * @param {Json} agent
 * @returns {number[]} indexes of those that the agent may fill
 */
export function groupsMet(groups, agent) {
  const reviewer = asAgent(/** @type {any} */ (agent));
  return groups.flatMap(({ subjects }, index) =>
    subjects.some((pattern) => isApproverMetBy(pattern, reviewer)) ? [index] : [],
  );
}

/**
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} groups
 * @param {Json} agent
 * @param {Json} review by the agent
 * @param {ReadonlySet<string>} made the signatures that the keys of their passkeys made
 * @returns {number[]} indexes of those that the review fills: signed ones only with a signature that was made
 */
export function groupsFilled(groups, agent, { signature }, made) {
  const isSigned = signature !== undefined && made.has(canonicalJson(signature));
  return groupsMet(groups, agent).filter((index) => isSigned || groups[index]?.signed !== true);
}
