import { seededRandom } from '../../../../test/faults/support/random';
import { areFilled, filledApprovals, type FillableGroups } from './approver-groups';
import { type ApproverGroup, areEqualSets } from './approval-requirement';

/** The maximum, found by trying every way to assign each reviewer to one of its groups, or to none. */
function byBruteForce(
  groups: readonly Pick<ApproverGroup, 'approvals'>[],
  reviewers: readonly FillableGroups[],
): number {
  const [first, ...others] = reviewers;
  if (first === undefined) return 0;
  const counts = first
    .filter((group) => (groups[group]?.approvals ?? 0) > 0)
    .map((group) => {
      const left = groups.map(({ approvals }, index) => ({ approvals: index === group ? approvals - 1 : approvals }));
      return 1 + byBruteForce(left, others);
    });
  return Math.max(byBruteForce(groups, others), ...counts);
}

describe('Reviewers and groups', () => {
  it('lets nobody count twice', () => {
    expect(areFilled([{ approvals: 1 }, { approvals: 1 }], [[0, 1]])).toBe(false);
    expect(areFilled([{ approvals: 2 }], [[0]])).toBe(false);
    expect(areFilled([{ approvals: 1 }, { approvals: 1 }], [[0, 1], [0]])).toBe(true);
  });

  it('moves those who could fill another group', () => {
    expect(areFilled([{ approvals: 1 }, { approvals: 1 }, { approvals: 1 }], [[0, 1], [0, 2], [0]])).toBe(true);
  });

  it('agrees with brute force', () => {
    const random = seededRandom('reviewers and groups');
    for (let round = 0; round < 20_000; round += 1) {
      const groups = Array.from({ length: 1 + random.below(4) }, () => ({
        approvals: 1 + random.below(3),
      }));
      const reviewers = Array.from({ length: random.below(6) }, () =>
        groups.flatMap((_, index) => (random.chance(0.4) ? [index] : [])),
      );
      expect({ groups, reviewers, filled: filledApprovals(groups, reviewers) }).toEqual({
        groups,
        reviewers,
        filled: byBruteForce(groups, reviewers),
      });
    }
  });

  it('compares subjects as sets', () => {
    expect(areEqualSets(['a', 'b'], ['b', 'a', 'a'])).toBe(true);
    expect(areEqualSets(['a', 'b'], ['a'])).toBe(false);
    expect(areEqualSets(['a'], ['a', 'b'])).toBe(false);
  });
});
