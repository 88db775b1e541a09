import type { ApprovalRequirement } from '../approval/approval-requirement';
import { combinedRequirement } from '../approval/combined-requirement';
import { isInForceAt, matchesBesidesPath } from './compiled-policy';
import type { CompiledPolicy, PathUse } from './compiled-policy';
import { MAX_DECIDING_POLICIES } from './evaluation-request';
import type { Evaluation } from './evaluation-request';
import type { AskedNames } from './policy-names';

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** Collects matching policies during an evaluation and keeps the first of the highest rank. */
export class Verdict {
  /** The highest rank that has matched so far. */
  private rank = -Infinity;
  /** The place from which on no policy can be among the first. */
  private end = Infinity;
  /** Ordered by place. */
  private deciding: CompiledPolicy[] = [];
  /** If the highest rank requires approval: all of its policies, as each contributes to the requirement. */
  private requiring: Set<CompiledPolicy> | null = null;

  /** @param at the change number as of which to evaluate. */
  constructor(
    readonly asked: AskedNames,
    private readonly at: number,
  ) {}

  /**
   * Whether a policy would change the verdict if it matched. If it would not, neither would any of lower precedence.
   */
  wants(policy: CompiledPolicy | undefined): boolean {
    return policy !== undefined && policy.place < this.end && policy.rank >= this.rank;
  }

  /** Considers policies, ordered by place, and keeps those that match and still matter. */
  consider(policies: readonly CompiledPolicy[], use: PathUse): void {
    for (const policy of policies) {
      if (!this.wants(policy)) return;
      if (matchesBesidesPath(policy, this.asked, use) && isInForceAt(policy, this.at)) this.take(policy);
    }
  }

  private take(policy: CompiledPolicy): void {
    if (policy.rank > this.rank) {
      this.rank = policy.rank;
      this.deciding = [];
      this.requiring = policy.approval === null ? null : new Set();
    }
    if (this.requiring !== null) {
      this.requiring.add(policy);
      return;
    }
    const { deciding } = this;
    const index = this.indexFor(policy);
    // Already found by another of its patterns.
    if (index > 0 && deciding[index - 1] === policy) return;
    if (deciding.length < MAX_DECIDING_POLICIES) deciding.push(policy);
    for (let last = deciding.length - 1; last > index; last -= 1) deciding[last] = deciding[last - 1] ?? policy;
    deciding[index] = policy;
    if (deciding.length === MAX_DECIDING_POLICIES) this.end = deciding[MAX_DECIDING_POLICIES - 1]?.place ?? Infinity;
  }

  evaluation(): Evaluation {
    if (this.requiring !== null)
      return evaluationOf([...this.requiring].sort((left, right) => left.place - right.place));
    return evaluationOf(this.deciding);
  }

  private indexFor({ place }: CompiledPolicy): number {
    let index = this.deciding.length;
    while (index > 0 && (this.deciding[index - 1]?.place ?? 0) > place) index -= 1;
    return index;
  }
}

/** All policies have the same effect, the oldest comes first. */
export function evaluationOf(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const shown = deciding.length > MAX_DECIDING_POLICIES ? deciding.slice(0, MAX_DECIDING_POLICIES) : deciding;
  const policies = shown.map(({ reference }) => reference);
  return { effect: first.reference.effect, policies, requirement: requirementOf(first.approval, deciding) };
}

function requirementOf(
  first: ApprovalRequirement | null,
  deciding: readonly CompiledPolicy[],
): ApprovalRequirement | null {
  if (first === null) return null;
  const others = deciding.slice(1).flatMap(({ approval }) => approval ?? []);
  return combinedRequirement(first, others);
}
