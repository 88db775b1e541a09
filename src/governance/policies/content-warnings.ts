import { splitSubject } from './patterns/principals';
import { listedTypeFault, resourcePatternFault } from './patterns/resources';
import { deadWarning, parseSubject, subjectWarning } from './patterns/subjects';
import { type PolicyCondition, isOnParameter } from './conditions/condition';
import { isReference } from './conditions/operand';
import { prefixWarning } from './conditions/prefix-warning';
import { normaliseAgentName } from '../agents/agent-name';
import { parseDuration } from '../../core/values/duration';
import { labelFault } from '../../core/values/label-fault';
import type { PolicyContent } from './policy-content';

/**
 * Warns of parts of a policy that match nothing. Only policies stored by an earlier version can have such resources or
 * types: new ones are refused.
 */
export function policyWarnings({ subjects, actions, resources, resourceTypes }: PolicyContent): string[] {
  return [
    ...subjects.flatMap((subject) => subjectWarning(subject) ?? []),
    ...actions.flatMap((action) => deadWarning(action, 'an action', labelFault(action)) ?? []),
    ...resources.flatMap((resource) => deadWarning(resource, 'a resource', resourcePatternFault(resource)) ?? []),
    ...resourceTypes.flatMap((type) => deadWarning(type, 'a resource type', listedTypeFault(type)) ?? []),
  ];
}

/**
 * Warns that a forbidding policy also applies to actions without the parameters of its conditions, and of conditions
 * that only seem to check a path, a host or a command, or to limit an amount.
 */
export function conditionWarnings(policy: PolicyContent): string[] {
  const ofPrefixes = policy.conditions.flatMap((condition, index) => {
    const warning = condition.op === 'prefix' ? prefixWarning(condition.parameter, condition.value) : undefined;
    return warning === undefined ? [] : `conditions[${index}] ${warning}`;
  });
  return [...lackWarnings(policy), ...ofPrefixes, ...amountWarnings(policy)];
}

/**
 * Warns of conditions that look further back than executions keep their contents: those that are erased are not found.
 * @param retainedMs milliseconds for which they keep them; null for ever
 */
export function retentionWarnings({ conditions }: PolicyContent, retainedMs: number | null): string[] {
  if (retainedMs === null) return [];
  return conditions.flatMap((condition, index) => {
    const within = 'earlier' in condition ? (condition.within ?? null) : null;
    if (within === null || (parseDuration(within) ?? 0) <= retainedMs) return [];
    return `conditions[${index}] looks back ${within}, but RETAIN_CONTENT erases executions earlier, and then it does not find them: make RETAIN_CONTENT longer, or "within" shorter.`;
  });
}

const BOUNDS: Readonly<Record<string, 'upper' | 'lower' | 'both' | undefined>> = {
  lt: 'upper',
  lte: 'upper',
  gt: 'lower',
  gte: 'lower',
  eq: 'both',
  in: 'both',
};

/** Warns of parameters for which an allow only has an upper limit. */
function amountWarnings({ effect, conditions, limits }: PolicyContent): string[] {
  if (effect !== 'allow') return [];
  const bounds = conditions.flatMap((condition) =>
    isOnParameter(condition) ? [{ ...condition, bound: BOUNDS[condition.op] }] : [],
  );
  const below = new Set(bounds.flatMap(({ bound, parameter }) => (bound === 'upper' ? parameter : [])));
  for (const { bound, parameter } of bounds) if (bound === 'lower' || bound === 'both') below.delete(parameter);
  // A limit refuses a negative amount, and thereby its policy.
  for (const { of } of limits) if (of !== undefined) below.delete(of);
  return [...below].map(
    (parameter) =>
      `${parameter} has an upper bound and no lower one: zero and negative numbers are allowed. Add a condition with "gt" or "gte".`,
  );
}

function lackWarnings({ effect, actions, conditions }: PolicyContent): string[] {
  if (effect === 'allow' || !actions.includes('*')) return [];
  const parameters = [...new Set(conditions.flatMap(parametersOf))];
  const lacked = parameters.filter(
    (parameter) => !conditions.some((condition) => isFalseWithout(condition, parameter)),
  );
  if (lacked.length === 0) return [];
  return [`The action "*" with conditions: this holds for every action whose parameters lack ${lacked.join(', ')}.`];
}

function parametersOf(condition: PolicyCondition): string[] {
  const own = isOnParameter(condition) ? [condition.parameter] : [];
  const { value } = condition;
  return isReference(value) && 'parameter' in value ? [...own, value.parameter] : own;
}

/** True if the condition requires the parameter, or a member of it, to exist. */
function isFalseWithout(condition: PolicyCondition, parameter: string): boolean {
  if (!isOnParameter(condition) || condition.op !== 'exists' || !condition.value) return false;
  return condition.parameter === parameter || condition.parameter.startsWith(`${parameter}/`);
}

/**
 * Returns the name that a subject would have as an agent; null if no confusion is possible: only `<type>:<id>`, which
 * means a subject that is not an agent, looks like one.
 */
export function mistakenName(subject: string): string | null {
  const pattern = parseSubject(subject);
  return pattern.kind === 'other' && pattern.id !== '*' ? normaliseAgentName(subject) : null;
}

/** Returns warnings about subjects that probably should be agents. @param agents names of agents */
export function mistakenSubjects(subjects: readonly string[], agents: ReadonlySet<string>): string[] {
  const mistaken = subjects.filter((subject) => agents.has(mistakenName(subject) ?? ''));
  return mistaken.map((subject) => {
    const { type, id } = splitSubject(subject);
    return `"${subject}" means "${id}" of the type "${type}", not the agent with that name, which is "agent:${subject}".`;
  });
}
