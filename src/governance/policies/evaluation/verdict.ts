import { combinedRequirement } from '../approval/approval-requirement';
import { compareByRank, matchesBesidesPath, type CompiledPolicy, type PathUse } from './compiled-policy';
import { MAX_DECIDING_POLICIES, type Evaluation } from './evaluation';
import type { AskedNames } from './names';

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** Collects matching policies during an evaluation and keeps the first of the highest rank. */
export class Verdict {
  /** The highest rank that has matched so far. */
  private rank = -Infinity;
  /** The youngest of the deciding ones, once no younger one can be among the first; null until then. */
  private last: string | null = null;
  /** All of the highest rank, the oldest first. */
  private deciding: CompiledPolicy[] = [];
  /** If the highest rank requires approval: all of its policies, as each contributes to the requirement. */
  private requiring: Set<CompiledPolicy> | null = null;

  constructor(readonly asked: AskedNames) {}

  /**
   * Whether a policy would change the verdict if it matched. If it would not, neither would any of lower precedence.
   */
  wants(policy: CompiledPolicy | undefined): boolean {
    if (policy === undefined || policy.rank < this.rank) return false;
    return policy.rank > this.rank || this.last === null || policy.reference.id < this.last;
  }

  /** Considers policies, in order of precedence, and keeps those that match and still matter. */
  consider(policies: readonly CompiledPolicy[], use: PathUse): void {
    for (const policy of policies) {
      if (!this.wants(policy)) return;
      if (matchesBesidesPath(policy, this.asked, use)) this.take(policy);
    }
  }

  private take(policy: CompiledPolicy): void {
    if (policy.rank > this.rank) {
      this.rank = policy.rank;
      this.last = null;
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
    if (deciding.length === MAX_DECIDING_POLICIES)
      this.last = deciding[MAX_DECIDING_POLICIES - 1]?.reference.id ?? null;
  }

  evaluation(): Evaluation {
    return evaluationOf(this.requiring === null ? this.deciding : [...this.requiring].sort(compareByRank));
  }

  private indexFor({ reference: { id } }: CompiledPolicy): number {
    const index = this.deciding.findIndex(({ reference }) => reference.id > id);
    return index < 0 ? this.deciding.length : index;
  }
}

/** All policies have the same effect, the oldest comes first. */
export function evaluationOf(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const shown = deciding.length > MAX_DECIDING_POLICIES ? deciding.slice(0, MAX_DECIDING_POLICIES) : deciding;
  const policies = shown.map(({ reference }) => reference);
  const requirement = first.approval && combinedRequirement(deciding.flatMap(({ approval }) => approval ?? []));
  return { effect: first.reference.effect, policies, requirement };
}
