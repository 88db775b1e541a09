import type { ApprovalRequirement } from '../approval/approval-requirement';
import { compileConditions, truthOf } from '../conditions/condition';
import type { CompiledCondition, PolicyCondition } from '../conditions/condition';
import type { DecidingPolicy } from './evaluation-request';
import { bitsOf, haveCommonName } from './name';
import { POLICY_EFFECTS } from './policy-effect';
import type { PolicyEffect } from './policy-effect';
import type { AskedNames, ListedNames } from './policy-names';
import { parseResourcePattern, resourcePatternFault } from '../patterns/resource-pattern';
import type { ResourcePattern } from '../patterns/resource-pattern';

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
  /** Null unless the effect is `require_approval`. */
  readonly approval: ApprovalRequirement | null;
}

/** A policy compiled for evaluation. */
export interface CompiledPolicy extends ListedNames {
  readonly reference: DecidingPolicy;
  /** Null if there are none. */
  readonly conditions: readonly CompiledCondition[] | null;
  /** What the policy requires; null unless it requires approval. */
  readonly approval: ApprovalRequirement | null;
  /** Orders by priority, then by strength of the effect; of the matching policies, those of the highest rank decide. */
  readonly rank: number;
  readonly isAllow: boolean;
  /** Its place among all policies in force, maintained by `PolicyOrder`; lower places take precedence. */
  place: number;
  /** Change numbers between which it is in force: the change that added it, and the one that removed it, if any. */
  readonly from: number;
  until: number | null;
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

export function compilePolicy(policy: PolicyRules, names: ListedNames, from: number): CompiledPolicy {
  const { id, name, version, effect, approval } = policy;
  const resources = compileResources(policy.resources, effect);
  // Members read by every match come first, adjacent in memory. After a copy (`...names`) V8 would store them apart,
  // and each match would take five times as long.
  return {
    place: 0,
    rank: policy.priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect),
    actionBits: bitsOf(names.actions),
    resourceTypeBits: bitsOf(names.resourceTypes),
    subjectBits: bitsOf(names.subjects),
    isAllow: effect === 'allow',
    until: null,
    reference: Object.freeze({ id, name, version, effect }),
    actions: names.actions,
    resourceTypes: names.resourceTypes,
    subjects: names.subjects,
    divisions: divisionsOf(names, resources.length),
    resources,
    conditions: compileConditions(policy.conditions),
    approval,
    from,
  };
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
    !(asked.isReview && (policy.approval !== null || policy.conditions !== null)) &&
    matchesConditions(policy, asked)
  );
}

export function isForSubject({ subjects }: CompiledPolicy, asked: AskedNames): boolean {
  const { subjectSet } = asked;
  if (subjectSet === null || subjects === null) return haveCommonName(subjects, asked.subjects);
  return subjects.some((name) => subjectSet.has(name));
}

export function matchesConditions(policy: CompiledPolicy, asked: AskedNames): boolean {
  return policy.conditions === null || conditionsLet(policy, policy.conditions, asked);
}

/** Whether it is in force at a change number. */
export function isInForceAt(policy: CompiledPolicy, change: number): boolean {
  return policy.from <= change && !isRemovedBy(policy, change);
}

/** Whether it was removed by a change number. */
export function isRemovedBy({ until }: CompiledPolicy, change: number): boolean {
  return until !== null && until <= change;
}

/** Leaving a parameter out must not evade a rule: only an allow needs its conditions to be known to hold. */
function conditionsLet(
  { isAllow }: CompiledPolicy,
  conditions: readonly CompiledCondition[],
  { parameters }: AskedNames,
): boolean {
  const truth = truthOf(conditions, parameters);
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
function compileResources(resources: readonly string[], effect: PolicyEffect): readonly ResourcePattern[] {
  const patterns = new Map<string, ResourcePattern>();
  for (const text of resources) {
    if (resourcePatternFault(text) !== undefined) continue;
    const pattern = parseResourcePattern(text, effect === 'allow' ? 'spelled' : 'meant');
    if (pattern.kind === 'everything') return [pattern];
    patterns.set(`${pattern.kind} ${pattern.path}`, pattern);
  }
  return [...patterns.values()];
}
