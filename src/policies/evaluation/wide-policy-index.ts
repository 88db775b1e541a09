import { matchesBesidesPath } from './compiled-policy';
import type { CompiledPolicy } from './compiled-policy';
import { MAX_DECIDING_POLICIES } from './evaluation-request';
import type { EvaluationRequest } from './evaluation-request';
import { ResourceIndex } from './resource-index';
import type { ResourceProbe } from './resource-probe';
import type { Verdict } from './verdict';

/**
 * Policies with long lists, which would fill {@link PolicyIndex} with every combination of their members. They are
 * filed by resource alone, and compared one by one from the highest rank until lower ranks cannot matter any more.
 */
export class WidePolicyIndex {
  private readonly resources = new ResourceIndex();

  add(policy: CompiledPolicy): void {
    this.resources.add(policy);
  }

  remove(policy: CompiledPolicy): void {
    this.resources.remove(policy);
  }

  evaluate(request: EvaluationRequest, probe: ResourceProbe, verdict: Verdict): void {
    if (this.resources.isEmpty) return;
    this.resources.visit(probe, (ranked) => {
      verdict.offer(firstMatches(ranked, request, verdict.rank));
    });
  }
}

function firstMatches(
  ranked: readonly CompiledPolicy[],
  request: EvaluationRequest,
  lowestRank: number,
): CompiledPolicy[] {
  const matches: CompiledPolicy[] = [];
  let rank = lowestRank;
  for (const policy of ranked) {
    if (policy.rank < rank || matches.length === MAX_DECIDING_POLICIES) break;
    if (!matchesBesidesPath(policy, request)) continue;
    rank = policy.rank;
    matches.push(policy);
  }
  return matches;
}
