/**
 * Which reviewers count for which groups of a decision: nobody counts twice.
 *
 * @typedef {readonly { approvals: number }[]} Groups
 * @typedef {readonly (readonly number[])[]} Reviewers the groups that each of them may fill, by index
 */

/**
 * True if every group can be filled with different reviewers.
 * @param {Groups} groups
 * @param {Reviewers} reviewers
 */
export function areFilled(groups, reviewers) {
  return holdersOf(groups, reviewers).every((holders, group) => isFull(groups, group, holders));
}

/**
 * Returns the indexes of the groups that one more reviewer would help to fill.
 * @param {Groups} groups
 * @param {Reviewers} reviewers
 * @returns {ReadonlySet<number>}
 */
export function openGroups(groups, reviewers) {
  const holders = holdersOf(groups, reviewers);
  const open = new Set(holders.flatMap((list, group) => (isFull(groups, group, list) ? [] : [group])));
  // A group is also open if one of its reviewers may go to an open group.
  for (let before = -1; before !== open.size;) {
    before = open.size;
    for (const [group, list] of holders.entries())
      if (list.some((holder) => reviewers[holder]?.some((other) => open.has(other)))) open.add(group);
  }
  return open;
}

/**
 * Counts as many reviewers as can be, each for one group.
 * @param {Groups} groups
 * @param {Reviewers} reviewers
 * @returns {number[][]} the reviewers that count for each group
 */
function holdersOf(groups, reviewers) {
  /** @type {number[][]} */
  const holders = groups.map(() => []);
  for (const reviewer of reviewers.keys()) takesPlace(reviewer, new Set());
  return holders;

  /**
   * Looks for an augmenting path: a reviewer who counts for a group may move to another one.
   * @param {number} reviewer
   * @param {Set<number>} triedGroups
   * @returns {boolean}
   */
  function takesPlace(reviewer, triedGroups) {
    for (const group of reviewers[reviewer] ?? []) {
      const list = holders[group];
      if (list === undefined || triedGroups.has(group)) continue;
      triedGroups.add(group);
      const place = isFull(groups, group, list)
        ? list.findIndex((holder) => takesPlace(holder, triedGroups))
        : list.length;
      if (place === -1) continue;
      list[place] = reviewer;
      return true;
    }
    return false;
  }
}

/**
 * @param {Groups} groups
 * @param {number} group its index
 * @param {readonly number[]} holders
 */
function isFull(groups, group, { length }) {
  return length >= Number(groups[group]?.approvals);
}
