import { combinedRequirement } from '../approval/approval-requirement';
import { type Asked, compareByRank, matchesBesidesPath, type CompiledPolicy } from './compiled-policy';
import { MAX_DECIDING_POLICIES, type Evaluation } from './evaluation';
import type { PolicyIndex } from './policy-index';

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** What the matching policies of the highest rank say. */
export function verdictOn(asked: Asked, index: PolicyIndex): Evaluation {
  let rank = -Infinity;
  const deciding = new Set<CompiledPolicy>();
  index.offer(asked, (policies, use) => {
    let shown = 0;
    // In order of precedence, up to those that can no longer change the answer.
    for (const policy of policies) {
      if (policy.rank < rank || shown === MAX_DECIDING_POLICIES) return;
      if (!matchesBesidesPath(policy, asked, use)) continue;
      if (policy.rank > rank) deciding.clear();
      rank = policy.rank;
      deciding.add(policy);
      // Each that requires approval contributes to the requirement.
      if (policy.approval === null) shown += 1;
    }
  });
  return evaluationOf([...deciding].sort(compareByRank));
}

/** All policies have the same effect, the oldest comes first. */
export function evaluationOf(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const policies = deciding.slice(0, MAX_DECIDING_POLICIES).map(({ reference }) => reference);
  const requirement = first.approval && combinedRequirement(deciding.flatMap(({ approval }) => approval ?? []));
  return { effect: first.reference.effect, policies, requirement };
}
