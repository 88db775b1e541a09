import type { PolicyRules } from './evaluation/compiled-policy';

/** The most patterns that all policies in force may have. */
const MOST_PATTERNS = 100_000;
/** The most policies in force with limits: what they ask is read for each request. */
const MOST_LIMITED = 100;

/** The most policies in force, and the most bytes of all their patterns: both are held in memory. */
export interface PolicyLimits {
  readonly maxPolicies: number;
  readonly maxPolicyText: number;
}

/** The parts whose text is held in memory. */
export type PolicyPatterns = Pick<
  PolicyRules,
  'subjects' | 'actions' | 'resources' | 'resourceTypes' | 'conditions' | 'limits' | 'onBehalfOf' | 'approval'
>;

/** What a policy takes up. */
interface Extent {
  readonly bytes: number;
  readonly patterns: number;
  /** 1 for a policy with limits. */
  readonly limited: number;
}

/** The memory taken up by the policies in force. */
export class PolicyCapacity {
  private readonly extents = new Map<string, Extent>();
  private bytes = 0;
  private patterns = 0;
  private limited = 0;

  constructor(private readonly limits: PolicyLimits) {}

  take(policy: PolicyPatterns & { readonly id: string }): void {
    this.free(policy.id);
    const extent = extentOf(policy);
    this.extents.set(policy.id, extent);
    this.bytes += extent.bytes;
    this.patterns += extent.patterns;
    this.limited += extent.limited;
  }

  free(id: string): void {
    const { bytes = 0, patterns = 0, limited = 0 } = this.extents.get(id) ?? {};
    this.bytes -= bytes;
    this.patterns -= patterns;
    this.limited -= limited;
    this.extents.delete(id);
  }

  /** Why policies cannot come into force while others are removed; undefined if they can. What shrinks always can. */
  faultOf(added: readonly PolicyPatterns[], removedIds: readonly string[]): string | undefined {
    const { maxPolicies, maxPolicyText } = this.limits;
    const removed = removedIds.flatMap((id) => this.extents.get(id) ?? []);
    const count = this.extents.size + added.length - removed.length;
    if (added.length > removed.length && count > maxPolicies)
      return `${count} policies would be in force, and MAX_POLICIES allows ${maxPolicies}. Take some out of force first.`;
    const extents = added.map(extentOf);
    const growth = (member: keyof Extent): number => sumOf(extents, member) - sumOf(removed, member);
    const limited = this.limited + growth('limited');
    if (growth('limited') > 0 && limited > MOST_LIMITED)
      return `${limited} policies with limits would be in force, and ${MOST_LIMITED} may be. Take some out of force first.`;
    const [bytes, patterns] = [this.bytes + growth('bytes'), this.patterns + growth('patterns')];
    if (growth('bytes') > 0 && bytes > maxPolicyText)
      return `The patterns of all policies in force would have ${bytes} bytes, and MAX_POLICY_TEXT allows ${maxPolicyText}. ${REMEDY}`;
    return growth('patterns') > 0 && patterns > MOST_PATTERNS
      ? `All policies in force would have ${patterns} patterns together, and may have ${MOST_PATTERNS}. ${REMEDY}`
      : undefined;
  }

  /** By how much the policies in force exceed the limits, because they are older; undefined if they do not. */
  get excess(): string | undefined {
    const { maxPolicies, maxPolicyText } = this.limits;
    const { extents, bytes, patterns } = this;
    if (extents.size <= maxPolicies && bytes <= maxPolicyText && patterns <= MOST_PATTERNS) return undefined;
    return (
      `${extents.size} policies with ${patterns} patterns of ${bytes} bytes are in force, and remain so; ` +
      `MAX_POLICIES allows ${maxPolicies} and MAX_POLICY_TEXT ${maxPolicyText}, and ${MOST_PATTERNS} patterns are the most, ` +
      `so no further policy can come into force.`
    );
  }
}

const REMEDY = 'Take a policy out of force first, or use fewer or shorter patterns.';

function sumOf(extents: readonly Extent[], member: keyof Extent): number {
  return extents.reduce((sum, extent) => sum + extent[member], 0);
}

function extentOf(policy: PolicyPatterns): Extent {
  const { subjects, actions, resources, resourceTypes, conditions, limits, onBehalfOf, approval } = policy;
  const approvers = (approval?.approvers ?? []).map((group) => group.subjects);
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  let patterns = 0;
  for (const texts of [subjects, actions, resources, resourceTypes, onBehalfOf, ...approvers]) {
    patterns += texts.length;
    for (const text of texts) bytes += Buffer.byteLength(text);
  }
  return { bytes, patterns, limited: limits.length > 0 ? 1 : 0 };
}
