/**
 * Whether every group can be filled with different reviewers: nobody counts twice.
 * @param {readonly { approvals: number }[]} groups
 * @param {readonly (readonly number[])[]} reviewers the groups that each of them may fill, by index
 */
export function areFilled(groups, reviewers) {
  const places = groups.flatMap(({ approvals }, group) => Array.from({ length: approvals }, () => group));
  /** Who holds each place. @type {Map<number, number>} */
  const holders = new Map();
  return (
    reviewers.reduce((filled, _, reviewer) => filled + Number(takesPlace(reviewer, new Set())), 0) === places.length
  );

  /**
   * An augmenting path: who holds a place may move to another one.
   * @param {number} reviewer
   * @param {Set<number>} tried
   * @returns {boolean}
   */
  function takesPlace(reviewer, tried) {
    for (const [place, group] of places.entries()) {
      if (tried.has(place) || reviewers[reviewer]?.includes(group) !== true) continue;
      tried.add(place);
      const holder = holders.get(place);
      if (holder !== undefined && !takesPlace(holder, tried)) continue;
      holders.set(place, reviewer);
      return true;
    }
    return false;
  }
}
