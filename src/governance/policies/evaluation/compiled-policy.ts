import type { ApprovalRequirement } from '../approval/approval-requirement';
import { compileLimits, type CompiledLimit, type PolicyLimit } from '../limits/limit';
import { compileConditions, truthOf, type CompiledCondition, type PolicyCondition } from '../conditions/condition';
import { type AskingCondition, askingConditions } from '../conditions/asking-conditions';
import { NO_FACTS } from '../conditions/facts';
import { POLICY_EFFECTS, type DecidingPolicy, type PolicyEffect } from './evaluation';
import { bitsOf, haveCommonName, type AskedNames, type ListedNames } from './names';
import { parseResourcePattern, resourcePatternFault, type ResourcePattern } from '../patterns/resources';

/** The members of a policy that determine what it matches and what follows. The patterns are valid. */
export interface PolicyRules {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly effect: PolicyEffect;
  readonly subjects: readonly string[];
  readonly actions: readonly string[];
  readonly resourceTypes: readonly string[];
  readonly resources: readonly string[];
  readonly priority: number;
  readonly conditions: readonly PolicyCondition[];
  /** How much it allows by itself; empty unless the effect is `allow`. */
  readonly limits: readonly PolicyLimit[];
  /** Patterns of principals; none: it does not matter on whose behalf. */
  readonly onBehalfOf: readonly string[];
  /** Null unless the effect is `require_approval`. */
  readonly approval: ApprovalRequirement | null;
}

/** A policy compiled for evaluation. */
export interface CompiledPolicy extends ListedNames {
  readonly reference: DecidingPolicy;
  /** Null if there are none. */
  readonly conditions: readonly CompiledCondition[] | null;
  /** Those that ask more than the request; null if there are none. */
  readonly asking: readonly AskingCondition[] | null;
  /** Null if there are none. */
  readonly limits: readonly CompiledLimit[] | null;
  /** What the policy requires; null unless it requires approval. */
  readonly approval: ApprovalRequirement | null;
  /** Orders by priority, then by strength of the effect; of the matching policies, those of the highest rank decide. */
  readonly rank: number;
  readonly isAllow: boolean;
  /** The number of its lists by which it is filed, in the order in which the index divides by them. */
  readonly divisions: number;
  readonly subjectBits: number;
  readonly actionBits: number;
  readonly resourceTypeBits: number;
  readonly resources: readonly ResourcePattern[];
}

/** The policies for which a path of the request counts. */
export interface PathUse {
  readonly allow: 'every' | 'typed' | 'none';
  readonly others: boolean;
}

/** Most combinations of its lists' members under which a policy is filed: each takes memory. */
const MOST_COMBINATIONS = 64;

export function compilePolicy(policy: PolicyRules, names: ListedNames): CompiledPolicy {
  const { id, name, version, effect, approval } = policy;
  const resources = compileResources(policy);
  // Members read by every match come first, adjacent in memory. After a copy (`...names`) V8 would store them apart,
  // and each match would take five times as long.
  return {
    rank: rankOf(policy),
    actionBits: bitsOf(names.actions),
    resourceTypeBits: bitsOf(names.resourceTypes),
    subjectBits: bitsOf(names.subjects),
    isAllow: effect === 'allow',
    reference: Object.freeze({ id, name, version, effect }),
    actions: names.actions,
    resourceTypes: names.resourceTypes,
    subjects: names.subjects,
    principals: names.principals,
    divisions: divisionsOf(names, resources.length),
    resources,
    conditions: compileConditions(policy.conditions),
    asking: askingConditions(policy.conditions),
    limits: compileLimits(name, policy.limits),
    approval,
  };
}

/** Orders by priority, then by strength of the effect. */
export function rankOf({ priority, effect }: Pick<PolicyRules, 'priority' | 'effect'>): number {
  return priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect);
}

/** A rank combines the priority and, below it, the effect. */
export function priorityOf(rank: number): number {
  return Math.floor(rank / POLICY_EFFECTS.length);
}

/** Highest rank first; within a rank the oldest first, since ids sort by creation. */
export function compareByRank(left: CompiledPolicy, right: CompiledPolicy): number {
  if (left.rank !== right.rank) return right.rank - left.rank;
  if (left.reference.id === right.reference.id) return 0;
  return left.reference.id < right.reference.id ? -1 : 1;
}

/** Whether the policy matches in everything but the resource path. Comparing bits rules out most that do not. */
export function matchesBesidesPath(policy: CompiledPolicy, asked: AskedNames, use: PathUse): boolean {
  return (
    (policy.actionBits & asked.actionBits) !== 0 &&
    (policy.resourceTypeBits & asked.resourceTypeBits) !== 0 &&
    (policy.subjectBits & asked.subjectBits) !== 0 &&
    isForSubject(policy, asked) &&
    haveCommonName(policy.actions, asked.actions) &&
    haveCommonName(policy.resourceTypes, asked.resourceTypes) &&
    usesPath(policy, use) &&
    isForPrincipal(policy, asked) &&
    !(asked.isReview && (policy.approval !== null || policy.conditions !== null)) &&
    (policy.limits === null || mayUse(policy, asked)) &&
    matchesConditions(policy, asked)
  );
}

/** A policy with limits matches only agents that are registered, and only while each of its limits lets it. */
export function mayUse({ reference }: CompiledPolicy, { usesLimits, reached }: AskedNames): boolean {
  return usesLimits && !reached.has(reference.id);
}

export function isForSubject({ subjects }: CompiledPolicy, asked: AskedNames): boolean {
  const { subjectSet } = asked;
  if (subjectSet === null || subjects === null) return haveCommonName(subjects, asked.subjects);
  return subjects.some((name) => subjectSet.has(name));
}

/** Leaving the principal out must not evade a rule, either: only an allow needs one. */
export function isForPrincipal({ principals, isAllow }: CompiledPolicy, asked: AskedNames): boolean {
  if (principals === null) return true;
  return asked.principals === null ? !isAllow : haveCommonName(principals, asked.principals);
}

export function matchesConditions(policy: CompiledPolicy, asked: AskedNames): boolean {
  return policy.conditions === null || conditionsLet(policy, policy.conditions, asked);
}

/** Leaving a parameter out must not evade a rule: only an allow needs its conditions to be known to hold. */
function conditionsLet(
  { isAllow, asking }: CompiledPolicy,
  conditions: readonly CompiledCondition[],
  { request, facts }: AskedNames,
): boolean {
  const areOpen = facts === null && asking !== null;
  const counting = areOpen ? conditions.filter((_, index) => !asking.some((one) => one.index === index)) : conditions;
  const truth = truthOf(counting, request, facts ?? NO_FACTS);
  return isAllow ? truth === true : truth !== false;
}

/**
 * A policy with long lists would fill the index with every combination of their members, so its last lists are not
 * used.
 */
function divisionsOf({ actions, resourceTypes, subjects }: ListedNames, resources: number): number {
  let combinations = resources;
  let divisions = 0;
  for (const names of [actions, resourceTypes, subjects]) {
    combinations *= names?.length ?? 1;
    if (combinations > MOST_COMBINATIONS) break;
    divisions += 1;
  }
  return divisions;
}

/** Whether a path of the request counts for the policy. */
export function usesPath({ isAllow, resourceTypes }: CompiledPolicy, { allow, others }: PathUse): boolean {
  if (!isAllow) return others;
  return allow === 'every' || (allow === 'typed' && resourceTypes !== null);
}

/** Stored patterns that would no longer be accepted match nothing. */
export function compileResources({
  resources,
  effect,
}: Pick<PolicyRules, 'resources' | 'effect'>): readonly ResourcePattern[] {
  const patterns = new Map<string, ResourcePattern>();
  for (const text of resources) {
    if (resourcePatternFault(text) !== undefined) continue;
    const pattern = parseResourcePattern(text, effect === 'allow' ? 'spelled' : 'meant');
    if (pattern.kind === 'everything') return [pattern];
    patterns.set(`${pattern.kind} ${pattern.path}`, pattern);
  }
  return [...patterns.values()];
}
