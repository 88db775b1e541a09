import type { PolicyCondition } from '../conditions/condition';
import type { PolicyRules } from './compiled-policy';
import { listedTypeFault, resourcePatternFault } from '../patterns/resource-pattern';
import { subjectWarning } from '../patterns/subject-pattern';
import { deadActionFault } from '../patterns/action-pattern';

/** What a policy lists. */
export type PolicyLists = Pick<PolicyRules, 'subjects' | 'actions' | 'resources' | 'resourceTypes'>;

/**
 * Names what in a policy matches nothing, and why. Only policies stored by an earlier version can have such resources
 * or types: new ones are refused.
 */
export function policyWarnings({ subjects, actions, resources, resourceTypes }: PolicyLists): string[] {
  return [
    ...subjects.flatMap((subject) => subjectWarning(subject) ?? []),
    ...actions.flatMap((action) => deadText(action, 'an action', deadActionFault(action))),
    ...resources.flatMap((resource) => deadText(resource, 'a resource', resourcePatternFault(resource))),
    ...resourceTypes.flatMap((type) => deadText(type, 'a resource type', listedTypeFault(type))),
  ];
}

function deadText(text: string, what: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`"${text}" matches nothing: ${what} ${fault}.`];
}

/** Warns that a policy which forbids also applies to actions that lack the parameters its conditions refer to. */
export function conditionWarnings({
  effect,
  actions,
  conditions,
}: Pick<PolicyRules, 'effect' | 'actions' | 'conditions'>): string[] {
  if (effect === 'allow' || !actions.includes('*')) return [];
  const named = [...new Set(conditions.map(({ parameter }) => parameter))];
  const lacked = named.filter((parameter) => !conditions.some((condition) => isFalseWithout(condition, parameter)));
  if (lacked.length === 0) return [];
  return [`The action "*" with conditions: this holds for every action whose parameters lack ${lacked.join(', ')}.`];
}

/** Whether it asks for the parameter, or something inside it, to be there. */
function isFalseWithout(condition: PolicyCondition, parameter: string): boolean {
  if (condition.op !== 'exists' || !condition.value) return false;
  return condition.parameter === parameter || condition.parameter.startsWith(`${parameter}/`);
}
