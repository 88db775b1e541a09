/**
 * True if every group can be filled with different reviewers: nobody counts twice.
 * @param {readonly { approvals: number }[]} groups
 * @param {readonly (readonly number[])[]} reviewers the groups that each of them may fill, by index
 */
export function areFilled(groups, reviewers) {
  return filledCount(groups, reviewers) === groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/**
 * Returns the most approvals that can be counted when each reviewer counts for one group.
 * @param {readonly { approvals: number }[]} groups
 * @param {readonly (readonly number[])[]} reviewers the groups that each of them may fill, by index
 */
export function filledCount(groups, reviewers) {
  // No group has more places that count than there are reviewers, however many approvals it asks for.
  const places = groups.flatMap(({ approvals }, group) =>
    Array.from({ length: Math.min(approvals, reviewers.length) }, () => group),
  );
  /** Who holds each place. @type {Map<number, number>} */
  const holders = new Map();
  return reviewers.reduce((filled, _, reviewer) => filled + Number(takesPlace(reviewer, new Set())), 0);

  /**
   * Looks for an augmenting path: a reviewer who holds a place may move to another place.
   * @param {number} reviewer
   * @param {Set<number>} triedPlaces
   * @returns {boolean}
   */
  function takesPlace(reviewer, triedPlaces) {
    for (const [place, group] of places.entries()) {
      if (triedPlaces.has(place) || reviewers[reviewer]?.includes(group) !== true) continue;
      triedPlaces.add(place);
      const holder = holders.get(place);
      if (holder !== undefined && !takesPlace(holder, triedPlaces)) continue;
      holders.set(place, reviewer);
      return true;
    }
    return false;
  }
}
