import { isOnParameter, isReference, type PolicyCondition } from './conditions/condition';
import type { PolicyRules } from './evaluation/compiled-policy';
import { listedTypeFault, resourcePatternFault } from './patterns/resources';
import { subjectWarning, parseSubject } from './patterns/subjects';
import { normaliseAgentName } from '../agents/agent-name';
import { labelFault } from '../../core/values/label-fault';
import { Turn } from '../../core/concurrency/turn';
import type { Policy } from './policy.entity';

/** What a policy lists. */
export type PolicyLists = Pick<PolicyRules, 'subjects' | 'actions' | 'resources' | 'resourceTypes'>;

/**
 * Names what in a policy matches nothing, and why. Only policies stored by an earlier version can have such resources
 * or types: new ones are refused.
 */
export function policyWarnings({ subjects, actions, resources, resourceTypes }: PolicyLists): string[] {
  return [
    ...subjects.flatMap((subject) => subjectWarning(subject) ?? []),
    ...actions.flatMap((action) => deadText(action, 'an action', labelFault(action))),
    ...resources.flatMap((resource) => deadText(resource, 'a resource', resourcePatternFault(resource))),
    ...resourceTypes.flatMap((type) => deadText(type, 'a resource type', listedTypeFault(type))),
  ];
}

function deadText(text: string, what: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`"${text}" matches nothing: ${what} ${fault}.`];
}

/**
 * Warns that a policy which forbids also applies to actions that lack the parameters its conditions refer to, and of
 * conditions that seem to check a path, or to limit an amount, and do not.
 */
export function conditionWarnings(policy: Pick<PolicyRules, 'effect' | 'actions' | 'conditions' | 'limits'>): string[] {
  const ofPaths = policy.conditions.flatMap((condition, index) =>
    condition.op === 'prefix' && condition.value.includes('/')
      ? `conditions[${index}] does not check a path or URL: with "..", what begins with "${condition.value}" leads elsewhere. Use "within".`
      : [],
  );
  return [...lackWarnings(policy), ...ofPaths, ...amountWarnings(policy)];
}

const BOUNDS: Readonly<Record<string, 'upper' | 'lower' | 'both' | undefined>> = {
  ...{ lt: 'upper', lte: 'upper', gt: 'lower', gte: 'lower', eq: 'both', in: 'both' },
};

/** Of parameters that an allow limits at the top only. */
function amountWarnings({
  effect,
  conditions,
  limits,
}: Pick<PolicyRules, 'effect' | 'conditions' | 'limits'>): string[] {
  if (effect !== 'allow') return [];
  const bounds = conditions.flatMap((one) => (isOnParameter(one) ? [{ ...one, bound: BOUNDS[one.op] }] : []));
  const below = new Set(bounds.flatMap(({ bound, parameter }) => (bound === 'upper' ? parameter : [])));
  for (const { bound, parameter } of bounds) if (bound === 'lower' || bound === 'both') below.delete(parameter);
  // A limit counts no negative amount, and so keeps it from matching.
  for (const { of } of limits) if (of !== undefined) below.delete(of);
  return [...below].map(
    (parameter) =>
      `${parameter} has an upper bound and no lower one: zero and negative numbers are allowed. Add a condition with "gt" or "gte".`,
  );
}

function lackWarnings({
  effect,
  actions,
  conditions,
}: Pick<PolicyRules, 'effect' | 'actions' | 'conditions'>): string[] {
  if (effect === 'allow' || !actions.includes('*')) return [];
  const named = [...new Set(conditions.flatMap(parametersOf))];
  const lacked = named.filter((parameter) => !conditions.some((condition) => isFalseWithout(condition, parameter)));
  if (lacked.length === 0) return [];
  return [`The action "*" with conditions: this holds for every action whose parameters lack ${lacked.join(', ')}.`];
}

function parametersOf(condition: PolicyCondition): string[] {
  if (!isOnParameter(condition)) return [];
  const { parameter, value } = condition;
  return isReference(value) ? [parameter, value.parameter] : [parameter];
}

/** Whether it asks for the parameter, or something inside it, to be there. */
function isFalseWithout(condition: PolicyCondition, parameter: string): boolean {
  if (!isOnParameter(condition) || condition.op !== 'exists' || !condition.value) return false;
  return condition.parameter === parameter || condition.parameter.startsWith(`${parameter}/`);
}

/**
 * The name that a subject would have as an agent. Null where it cannot be mistaken for one: only `<type>:<id>` can, which
 * is read as a subject that is not an agent.
 */
export function mistakenName(subject: string): string | null {
  const pattern = parseSubject(subject);
  return pattern.kind === 'other' && pattern.id !== '*' ? normaliseAgentName(subject) : null;
}

/** Names the subjects that were probably meant as an agent. @param agents names that agents have. */
export function mistakenSubjects(subjects: readonly string[], agents: ReadonlySet<string>): string[] {
  return subjects.flatMap((subject) => {
    const name = mistakenName(subject);
    const pattern = parseSubject(subject);
    if (pattern.kind !== 'other' || name === null || !agents.has(name)) return [];
    const { type, id } = pattern;
    return `"${subject}" means "${id}" of the type "${type}", not the agent with that name, which is "agent:${subject}".`;
  });
}

/** Most log lines per start, and most warnings per line. */
const MOST_LINES = 20;
const MOST_WARNINGS = 5;

/**
 * Log lines about policies that match less than they seem to, because they list what an earlier version accepted and
 * this one does not. A policy's own `warnings` are not repeated. Denials come first.
 */
export async function unreportedWarnings(policies: readonly Policy[]): Promise<string[]> {
  const turn = new Turn();
  const lines: string[] = [];
  for (const policy of [...policies].sort(denyingFirst)) {
    if (turn.isOver) await turn.next();
    const unsaid = policyWarnings(policy).filter((warning) => !policy.warnings.includes(warning));
    if (unsaid.length > 0) lines.push(lineOn(policy, unsaid));
  }
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `${lines.length - MOST_LINES} more policies match less than they seem to.`];
}

function lineOn({ name, version, effect }: Policy, warnings: readonly string[]): string {
  const more = warnings.length - MOST_WARNINGS;
  const listed = more > 0 ? [...warnings.slice(0, MOST_WARNINGS), `So do ${more} more.`] : warnings;
  return `The policy "${name}" (version ${version}, ${effect}) matches less than it seems to; replace it with a new version. ${listed.join(' ')}`;
}

function denyingFirst(left: Policy, right: Policy): number {
  return Number(right.effect === 'deny') - Number(left.effect === 'deny');
}
