import { openGroups } from '../evaluation/matching.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';

/**
 * Which groups of a decision escalate: those that are not filled in time.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/requirement.mjs').Group} Group
 */

/**
 * Returns the indexes of the groups that have to escalate at a time, and have not: one more approval would help to fill
 * them.
 * @param {Json} decision
 * @param {string} time
 * @returns {number[]}
 */
export function escalatingGroups({ approvers = [], reviews, createdAt }, time) {
  const filled = reviews.flatMap((/** @type {Json} */ { verdict, groups = [] }) =>
    verdict === 'approve' ? [groups] : [],
  );
  const open = openGroups(approvers, filled);
  return /** @type {Group[]} */ (approvers).flatMap(({ escalate }, index) => {
    if (escalate === undefined || escalate.at !== undefined) return [];
    const isDue = Date.parse(createdAt) + milliseconds(escalate.after) <= Date.parse(time);
    return isDue && open.has(index) ? [index] : [];
  });
}

/**
 * Returns the groups of a decision after some have escalated.
 * @param {Json} decision
 * @param {readonly number[]} indexes
 * @param {string} at
 * @returns {Group[]}
 */
export function withEscalation({ approvers = [] }, indexes, at) {
  return approvers.map((/** @type {Group} */ group, /** @type {number} */ index) =>
    group.escalate !== undefined && indexes.includes(index) ? { ...group, escalate: { ...group.escalate, at } } : group,
  );
}
