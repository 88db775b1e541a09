import { combinedRequirement } from '../approval/approval-requirement';
import { type Asked, compareByRank, matchesBesidesPath, type CompiledPolicy, type PathUse } from './compiled-policy';
import { MAX_DECIDING_POLICIES, type Evaluation } from './evaluation';

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** Collects the matching policies of the highest rank during an evaluation. */
export class Verdict {
  private rank = -Infinity;
  private readonly deciding = new Set<CompiledPolicy>();

  constructor(private readonly asked: Asked) {}

  /** Considers policies, in order of precedence, up to those that can no longer change the answer. */
  consider(policies: readonly CompiledPolicy[], use: PathUse): void {
    let shown = 0;
    for (const policy of policies) {
      if (policy.rank < this.rank || shown === MAX_DECIDING_POLICIES) return;
      if (!matchesBesidesPath(policy, this.asked, use)) continue;
      if (policy.rank > this.rank) this.deciding.clear();
      this.rank = policy.rank;
      this.deciding.add(policy);
      // Each that requires approval contributes to the requirement.
      if (policy.approval === null) shown += 1;
    }
  }

  evaluation(): Evaluation {
    return evaluationOf([...this.deciding].sort(compareByRank));
  }
}

/** All policies have the same effect, the oldest comes first. */
export function evaluationOf(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const policies = deciding.slice(0, MAX_DECIDING_POLICIES).map(({ reference }) => reference);
  const requirement = first.approval && combinedRequirement(deciding.flatMap(({ approval }) => approval ?? []));
  return { effect: first.reference.effect, policies, requirement };
}
