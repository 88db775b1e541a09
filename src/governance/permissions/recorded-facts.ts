import type { DecisionBasis } from '../executions/execution.entity';
import { claimName } from '../policies/conditions/facts';
import { earlierName } from '../policies/conditions/facts';
import type { AskedFact, Facts } from '../policies/evaluation/evaluation';

/** What conditions asked besides the request, and what was found: as entries say it. */
export function recordedFacts(
  looked: readonly AskedFact[],
  facts: Facts | undefined,
): Pick<DecisionBasis, 'earlier' | 'claims'> {
  const earlier = looked.flatMap(({ policyId, condition, ...asked }) =>
    'earlier' in asked
      ? { policyId, condition, executionId: facts?.earlier.get(earlierName(asked.earlier)) ?? null }
      : [],
  );
  const claims = looked.flatMap(({ policyId, condition, ...asked }) => {
    if (!('claim' in asked)) return [];
    const known = facts?.claims.get(claimName(asked.claim)) ?? null;
    return { policyId, condition, entityId: asked.claim.entityId, ids: known?.map(({ id }) => id) ?? null };
  });
  return { ...(earlier.length > 0 && { earlier }), ...(claims.length > 0 && { claims }) };
}
