import type { PolicyRules } from './evaluation/compiled-policy';

/** The most patterns that all policies in force may have. */
const MOST_PATTERNS = 100_000;
/** The most policies in force with limits: what they ask is read for each request. */
const MOST_LIMITED = 100;
const REMEDY = 'Take a policy out of force first, or use fewer or shorter patterns.';

/** The most policies in force, and the most bytes of all their patterns: both are held in memory. */
interface PolicyLimits {
  readonly maxPolicies: number;
  readonly maxPolicyText: number;
}

/** What policies take up. */
export interface Extent {
  readonly policies: number;
  /** Of the parts whose text is held in memory. */
  readonly bytes: number;
  readonly patterns: number;
  /** How many have limits. */
  readonly limited: number;
}

export function extentOf(policy: Omit<PolicyRules, 'id'>): Extent {
  const { subjects, actions, resources, resourceTypes, conditions, limits, onBehalfOf, approval } = policy;
  const approvers = (approval?.approvers ?? []).map((group) => group.subjects);
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  let patterns = 0;
  for (const texts of [subjects, actions, resources, resourceTypes, onBehalfOf, ...approvers]) {
    patterns += texts.length;
    for (const text of texts) bytes += Buffer.byteLength(text);
  }
  return { policies: 1, bytes, patterns, limited: limits.length > 0 ? 1 : 0 };
}

export function totalOf(extents: Iterable<Extent>): Extent {
  let [policies, bytes, patterns, limited] = [0, 0, 0, 0];
  for (const extent of extents) {
    policies += extent.policies;
    bytes += extent.bytes;
    patterns += extent.patterns;
    limited += extent.limited;
  }
  return { policies, bytes, patterns, limited };
}

/** Why a change of the policies in force is refused; undefined if it is not. What shrinks never is. */
export function capacityFault(
  before: Extent,
  after: Extent,
  { maxPolicies, maxPolicyText }: PolicyLimits,
): string | undefined {
  const exceeds = (member: keyof Extent, most: number): boolean =>
    after[member] > before[member] && after[member] > most;
  const { policies, bytes, patterns, limited } = after;
  if (exceeds('policies', maxPolicies))
    return `${policies} policies would be in force, and MAX_POLICIES allows ${maxPolicies}. Take some out of force first.`;
  if (exceeds('limited', MOST_LIMITED))
    return `${limited} policies with limits would be in force, and ${MOST_LIMITED} may be. Take some out of force first.`;
  if (exceeds('bytes', maxPolicyText))
    return `The patterns of all policies in force would have ${bytes} bytes, and MAX_POLICY_TEXT allows ${maxPolicyText}. ${REMEDY}`;
  return exceeds('patterns', MOST_PATTERNS)
    ? `All policies in force would have ${patterns} patterns together, and may have ${MOST_PATTERNS}. ${REMEDY}`
    : undefined;
}

/** By how much the policies in force exceed the limits, because they are older; undefined if they do not. */
export function excessOver(
  { policies, bytes, patterns }: Extent,
  { maxPolicies, maxPolicyText }: PolicyLimits,
): string | undefined {
  if (policies <= maxPolicies && bytes <= maxPolicyText && patterns <= MOST_PATTERNS) return undefined;
  return (
    `${policies} policies with ${patterns} patterns of ${bytes} bytes are in force, and remain so; ` +
    `MAX_POLICIES allows ${maxPolicies} and MAX_POLICY_TEXT ${maxPolicyText}, and ${MOST_PATTERNS} patterns are the most, ` +
    `so no further policy can come into force.`
  );
}
