import { canonicalJson } from '../canonical-json.mjs';
import { approvalKey } from '../evaluation/requirement.mjs';
import { isApproverMetBy } from '../evaluation/subjects.mjs';

/** @typedef {import('./read-file.mjs').Json} Json */

/**
 * Returns the members of an agent that the rules read. An agent of an earlier version may lack its kind.
 * @param {Json} state
 */
export function asAgent({ id, name, kind = 'machine', roles, status, capabilities, observeUntil, team = null }) {
  return { id, name, kind, roles, status, capabilities, observeUntil, team };
}

/**
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} groups
 * @param {Json} agent
 * @returns {number[]} indexes of the groups that the agent may fill
 */
export function groupsMet(groups, agent) {
  const reviewer = asAgent(/** @type {any} */ (agent));
  return groups.flatMap(({ subjects, escalate }, index) => {
    const all = escalate?.at === undefined ? subjects : [...subjects, ...escalate.subjects];
    return all.some((pattern) => isApproverMetBy(pattern, reviewer)) ? [index] : [];
  });
}

/**
 * Returns the id of the agent in whose place a review was made: its reviewer, unless by a delegation.
 * @param {Json} review
 * @param {import('./history.mjs').History} history
 * @returns {string}
 */
export function placeOf({ approverId, delegationId }, history) {
  if (delegationId === undefined) return approverId;
  return history.entriesAbout('delegation', delegationId)[0]?.['state']?.agentId ?? delegationId;
}

/**
 * Returns groups with the escalations that took effect for groups of a decision with the same subjects.
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} groups
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} decided
 * @returns {readonly import('../evaluation/requirement.mjs').Group[]}
 */
export function withEscalationsOf(groups, decided) {
  return groups.map((group) => {
    const at = decided.find((other) => approvalKey(other) === approvalKey(group))?.escalate?.at;
    return at === undefined || group.escalate === undefined ? group : { ...group, escalate: { ...group.escalate, at } };
  });
}

/**
 * @param {readonly import('../evaluation/requirement.mjs').Group[]} groups
 * @param {Json} agent
 * @param {Json} review by the agent
 * @param {ReadonlySet<string>} validSignatures signatures that match the keys of their passkeys
 * @returns {number[]} indexes of the groups that the review fills: signed ones only with a valid signature
 */
export function groupsFilled(groups, agent, { signature }, validSignatures) {
  const isSigned = signature !== undefined && validSignatures.has(canonicalJson(signature));
  return groupsMet(groups, agent).filter((index) => isSigned || groups[index]?.signed !== true);
}
