import type { PolicyRules } from './compiled-policy';
import type { FactQuery } from './evaluation';

/** Most facts that the checks of one request may need: each is looked up or summed, and held until the answer. */
export const MAX_FACTS_OF_REQUEST = 1_000;
/** Most facts that the policies in force may need: no single request needs more. */
export const MAX_FACTS_IN_FORCE = 1_000;
/** Most conditions on a time in force. */
export const MAX_TIMED_CONDITIONS = 50;
/** Most actions of an agent with which the pattern of a condition on a time is compared. */
export const MAX_ACTIONS_OF_CONDITION = 1_000;
/** Most such actions of all conditions that one question needs, as everybody's writes wait meanwhile. */
export const MAX_ACTIONS_OF_QUESTION = 2_000;

/**
 * Returns the number of facts that a policy needs in addition to the request: its limits, and its conditions on earlier
 * actions and claims.
 */
export function factsOfPolicy({ limits, conditions }: Pick<PolicyRules, 'limits' | 'conditions'>): number {
  return limits.length + conditions.filter((condition) => 'earlier' in condition || 'claim' in condition).length;
}

/** Returns the number of conditions on what an agent did within a time. */
export function timedConditionsOf({ conditions }: Pick<PolicyRules, 'conditions'>): number {
  return conditions.filter((condition) => 'earlier' in condition && (condition.within ?? null) !== null).length;
}

/** Returns why a list of checks is refused whose first `questions` need more facts than a request may. */
export function factsFault(questions: number): string {
  return (
    `must be fewer: for the first ${questions} of them, the policies look up more than ${MAX_FACTS_OF_REQUEST} limits, ` +
    'earlier actions and claims'
  );
}

/**
 * Divides the number of actions that one question may compare among its patterns with a time; an exact action compares
 * none.
 */
export function withSharedActions(facts: readonly FactQuery[]): readonly FactQuery[] {
  const count = facts.filter(comparesActions).length;
  if (count === 0) return facts;
  const maxActions = Math.min(MAX_ACTIONS_OF_CONDITION, Math.floor(MAX_ACTIONS_OF_QUESTION / count));
  return facts.map((fact) => (comparesActions(fact) ? { ...fact, earlier: { ...fact.earlier, maxActions } } : fact));
}

function comparesActions(fact: FactQuery): fact is Extract<FactQuery, { earlier: unknown }> {
  return 'earlier' in fact && fact.earlier.since !== null && fact.earlier.action.endsWith('*');
}
