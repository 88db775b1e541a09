import { decimalOf, ZERO, type Decimal, sumOf } from '../../core/values/decimal';
import type { FieldFault } from '../../core/errors/domain-error';
import { matchesAction } from '../../core/values/action-pattern';
import { sumName } from '../../ledger/records/sum-key';
import { type EarlierKey, earlierName, NO_FACTS, resourceKey } from '../policies/conditions/condition';
import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import type { EvaluationRequest, Facts } from '../policies/evaluation/evaluation';
import type { FactQueries } from '../policies/evaluation/policy-evaluator';

/** An action of the test's agent that was authorised before. */
export interface EarlierAction {
  readonly action: string;
  /** Type of the resource. Null or missing: that of the test. The same holds for the id. */
  readonly resourceType?: string | null;
  readonly resourceId?: string | null;
}

/** An earlier use of a limit. */
export interface TestUse {
  /** Name of a policy of the set. */
  readonly policy: string;
  /** Index of the limit. */
  readonly limit: number;
  readonly amount: number;
}

/** Earlier actions and uses that a test assumes. */
export interface TestHistory {
  /** Null or missing if earlier actions are unknown. */
  readonly earlier?: readonly EarlierAction[] | null | undefined;
  readonly used?: readonly TestUse[] | null | undefined;
}

/** Placeholder for the id of an earlier execution. */
const EARLIER_ID = 'earlier';

/** Returns the facts that policies need in addition to the request, as a test assumes them. There are no claims. */
export function testFacts(
  { earlier = null, used = null }: TestHistory,
  request: EvaluationRequest,
  queries: FactQueries,
): Facts {
  const sums = new Map<string, Decimal>();
  for (const use of queries.uses) {
    const own = (used ?? []).filter(({ policy, limit }) => policy === use.policy.name && limit === use.limit);
    const amounts = own.map(({ amount }) => decimalOf(amount) ?? ZERO);
    sums.set(sumName(use.sum), amounts.reduce(sumOf, ZERO));
  }
  if (earlier === null) return { ...NO_FACTS, sums };
  const ids = new Map<string, string | null>();
  for (const fact of queries.facts)
    if ('earlier' in fact) {
      const isDone = earlier.some((action) => isEarlier(action, request, fact.earlier));
      ids.set(earlierName(fact.earlier), isDone ? EARLIER_ID : null);
    }
  return { ...NO_FACTS, sums, earlier: ids };
}

/** True if the condition finds the action, which counts as done just before, in the run of the test. */
function isEarlier(
  { action, resourceType, resourceId }: EarlierAction,
  request: EvaluationRequest,
  key: EarlierKey,
): boolean {
  const resource = resourceKey({
    resourceType: resourceType ?? request.resourceType,
    resourceId: resourceId ?? request.resourceId,
  });
  return matchesAction(key.action, action) && (key.resource === null || key.resource === resource);
}

/** Returns faults of uses of limits that the set does not have. */
export function usedFaults(
  tests: readonly TestHistory[],
  target: ReadonlyMap<string, Pick<PolicyRules, 'limits'>>,
): FieldFault[] {
  return tests.flatMap(({ used }, test) =>
    (used ?? []).flatMap(({ policy, limit }, index) => {
      const field = `tests[${test}].used[${index}]`;
      const limits = target.get(policy)?.limits;
      if (limits === undefined) return { field: `${field}.policy`, message: 'must be the name of a policy of the set' };
      if (limit < limits.length) return [];
      const message =
        limits.length === 0
          ? 'names a limit of a policy that has none'
          : `must be the index of a limit of the policy, from 0 to ${limits.length - 1}`;
      return { field: `${field}.limit`, message };
    }),
  );
}
