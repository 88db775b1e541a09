import type { PolicyRules } from './evaluation/compiled-policy';

/** The most policies in force, and the most bytes of all their patterns: both are held in memory. */
export interface PolicyLimits {
  readonly maxPolicies: number;
  readonly maxPolicyText: number;
}

/** The parts whose text is held in memory. */
export type PolicyPatterns = Pick<
  PolicyRules,
  'subjects' | 'actions' | 'resources' | 'resourceTypes' | 'conditions' | 'approval'
>;

/** The memory taken up by the policies in force. */
export class PolicyCapacity {
  private readonly texts = new Map<string, number>();
  private text = 0;

  constructor(private readonly limits: PolicyLimits) {}

  take(policy: PolicyPatterns & { readonly id: string }): void {
    this.free(policy.id);
    const size = textOf(policy);
    this.texts.set(policy.id, size);
    this.text += size;
  }

  free(id: string): void {
    this.text -= this.texts.get(id) ?? 0;
    this.texts.delete(id);
  }

  /** Why a policy cannot come into force, in place of another or in addition to all; undefined if it can. */
  faultOf(policy: PolicyPatterns, replacedId: string | null): string | undefined {
    const { maxPolicies, maxPolicyText } = this.limits;
    const replaced = replacedId === null ? undefined : this.texts.get(replacedId);
    if (replaced === undefined && this.texts.size >= maxPolicies)
      return `${this.texts.size} policies are in force, and MAX_POLICIES allows ${maxPolicies}. Take one out of force first.`;
    const growth = textOf(policy) - (replaced ?? 0);
    return growth > 0 && this.text + growth > maxPolicyText ? this.tooMuchText(this.text + growth) : undefined;
  }

  /** Why policies cannot come into force while others are removed; undefined if they can. */
  faultOfAll(added: readonly PolicyPatterns[], removedIds: readonly string[]): string | undefined {
    const { maxPolicies, maxPolicyText } = this.limits;
    const count = this.texts.size + added.length - removedIds.length;
    if (count > maxPolicies)
      return `${count} policies would be in force, and MAX_POLICIES allows ${maxPolicies}. Take some out of force.`;
    let growth = -removedIds.reduce((sum, id) => sum + (this.texts.get(id) ?? 0), 0);
    for (const policy of added) growth += textOf(policy);
    return growth > 0 && this.text + growth > maxPolicyText ? this.tooMuchText(this.text + growth) : undefined;
  }

  /** By how much the policies in force exceed the limits, because they are older; undefined if they do not. */
  get excess(): string | undefined {
    const { maxPolicies, maxPolicyText } = this.limits;
    if (this.texts.size <= maxPolicies && this.text <= maxPolicyText) return undefined;
    return (
      `${this.texts.size} policies with ${this.text} bytes of patterns are in force, and remain so; ` +
      `MAX_POLICIES allows ${maxPolicies} and MAX_POLICY_TEXT ${maxPolicyText}, so no further policy can come into force.`
    );
  }

  private tooMuchText(bytes: number): string {
    return (
      `The patterns of all policies in force would have ${bytes} bytes, and MAX_POLICY_TEXT allows ` +
      `${this.limits.maxPolicyText}. Take a policy out of force first, or use fewer or shorter patterns.`
    );
  }
}

function textOf({ subjects, actions, resources, resourceTypes, conditions, approval }: PolicyPatterns): number {
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  for (const group of approval?.approvers ?? [])
    for (const subject of group.subjects) bytes += Buffer.byteLength(subject);
  for (const patterns of [subjects, actions, resources, resourceTypes])
    for (const pattern of patterns) bytes += Buffer.byteLength(pattern);
  return bytes;
}
