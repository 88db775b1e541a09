import type { PlannedMatch } from './planned-match';

const SIDES = ['isBefore', 'isAfter'] as const;

/**
 * Leaves out policies that decide nothing: on each side on which they are in force, a policy of a higher rank decides
 * for all subjects, whatever is requested.
 * @param subjects all subjects that count
 * @param matchesAll true if a policy matches every compared request, except for subjects and conditions
 */
export function withoutOutranked(
  policies: readonly PlannedMatch[],
  subjects: bigint,
  matchesAll: (policy: PlannedMatch) => boolean,
): readonly PlannedMatch[] {
  const least = { isBefore: -Infinity, isAfter: -Infinity };
  for (const policy of policies) {
    const isCertain = policy.condition === null && !policy.isUncertain && (policy.subjects & subjects) === subjects;
    if (!isCertain || !matchesAll(policy)) continue;
    for (const side of SIDES) if (policy.rules[side]) least[side] = Math.max(least[side], policy.rank);
  }
  return policies.filter(({ rules, rank }) => SIDES.some((side) => rules[side] && rank >= least[side]));
}
