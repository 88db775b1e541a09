import { isTooLarge } from '../approval/approval-requirement';
import type { LimitUse } from '../limits/limit';
import {
  type EvaluationContext,
  compareByAge,
  compareByRank,
  type CompiledPolicy,
  isAbout,
  isForAction,
  isForPrincipal,
  isForSubject,
  isForTeam,
  isForType,
  matchesConditions,
  mayUse,
  priorityOf,
  usesPath,
} from './compiled-policy';
import { POLICY_EFFECTS, type DecidingPolicy, type PolicyEffect } from './evaluation';
import { type PolicyIndex, combineEffects } from './policy-index';

export const MAX_MATCHED = 100;
export const MAX_NEAREST = 20;
/** Policies that are examined in one step. */
const STEP_SIZE = 128;

/** The parts of a policy that a request has to match. */
export const POLICY_PARTS = ['subject', 'action', 'resource', 'resourceType', 'conditions', 'onBehalfOf'] as const;
export type PolicyPart = (typeof POLICY_PARTS)[number];

export interface MatchedPolicy {
  readonly policy: DecidingPolicy;
  readonly decided: boolean;
  /** Reason why it did not decide: another policy has a higher priority, or the same priority and a stronger effect. */
  readonly lostTo: 'priority' | 'effect' | null;
}

/** A policy that would match if one part did. */
interface NearPolicy {
  readonly policy: DecidingPolicy;
  readonly missing: readonly PolicyPart[];
}

/** The reasons for which policies decide as they do on a request. */
export interface Explanation {
  /** Number of policies in force, except those of other teams. */
  readonly inForce: number;
  /** The deciding policies first, then by priority, effect and age; at most {@link MAX_MATCHED}. */
  readonly matched: readonly MatchedPolicy[];
  /** Returns policies that fail in one part, and would otherwise change the effect, by priority, then the oldest. */
  readonly nearMisses: (effect: PolicyEffect) => readonly NearPolicy[];
  /** Requested uses of limits of policies that match in every other respect; the oldest policy first. */
  readonly limits: readonly LimitUse[];
}

/** Maps policies to how much of the resource of a request they match; missing policies do not match. */
type ResourceMeets = ReadonlyMap<CompiledPolicy, 'whole' | 'but for the type'>;

/** Examines every policy individually, in steps, because each of ten thousand policies may have many conditions. */
export function* explanationSteps(
  policies: ReadonlyMap<string, CompiledPolicy>,
  index: PolicyIndex,
  context: EvaluationContext,
): Generator<null, Omit<Explanation, 'limits'>> {
  const meets = resourceMeets(index, context);
  const matching: CompiledPolicy[] = [];
  const near = new Map<CompiledPolicy, readonly PolicyPart[]>();
  let inForce = 0;
  let examined = 0;
  for (const policy of policies.values()) {
    examined += 1;
    if (examined % STEP_SIZE === 0) yield null;
    if (!isForTeam(policy, context)) continue;
    inForce += 1;
    // A policy that only a limit keeps from matching lacks no part.
    if (policy.limits.length > 0 && !mayUse(policy, context)) continue;
    const missing = missingParts(policy, context, meets);
    if (missing.length <= 1 && !matchesConditions(policy, context)) missing.push('conditions');
    if (missing.length === 0) matching.push(policy);
    if (missing.length === 1) near.set(policy, missing);
  }
  matching.sort(compareByRank);
  const rank = matching[0]?.rank ?? -Infinity;
  return {
    inForce,
    matched: matching.slice(0, MAX_MATCHED).map((policy) => matchedBy(policy, rank)),
    nearMisses: (effect) => nearestOf(near, rank, effect),
  };
}

/** Returns the policies whose conditions an explanation evaluates: they fail in at most one other part. */
export function policiesToExplain(
  policies: ReadonlyMap<string, CompiledPolicy>,
  index: PolicyIndex,
  context: EvaluationContext,
): CompiledPolicy[] {
  const meets = resourceMeets(index, context);
  return [...policies.values()].filter(
    (policy) => isForTeam(policy, context) && missingParts(policy, context, meets).length <= 1,
  );
}

/**
 * Returns the best effect that any parameters could have. Each policy with conditions or limits may match or not,
 * independently of others.
 * @param defaultEffect effect if no policy matches
 */
export function bestEffectFor(
  index: PolicyIndex,
  context: EvaluationContext,
  defaultEffect: PolicyEffect,
): PolicyEffect {
  const policies = candidatesIn(index, context).sort(compareByRank);
  const certain = policies.filter(({ conditions, limits }) => conditions.length === 0 && limits.length === 0);
  const floor = certain[0]?.rank ?? -Infinity;
  const least = effectOf(certain.filter(({ rank }) => rank === floor)) ?? defaultEffect;
  // Each of these could decide alone.
  const effects = policies.filter(({ rank }) => rank > floor).map(({ reference }) => reference.effect);
  return POLICY_EFFECTS.find((effect) => effect === least || effects.includes(effect)) ?? least;
}

/** The oldest policies that would allow a request if one thing were different. */
export interface NearAllows {
  /** The policy that would allow it if its conditions held and no limit were reached. */
  readonly conditions: DecidingPolicy | null;
  /**
   * The policy that would allow a request without a principal on behalf of one, if its conditions and limits permit.
   */
  readonly principal: DecidingPolicy | null;
}

export function allowingOtherwise(index: PolicyIndex, context: EvaluationContext): NearAllows {
  const oldest = (policies: CompiledPolicy[]): DecidingPolicy | null =>
    policies.filter(({ isAllow }) => isAllow).sort(compareByAge)[0]?.reference ?? null;
  const forSomebody = context.principals === null ? candidatesIn(index, context, needsPrincipal) : [];
  return { conditions: oldest(candidatesIn(index, context)), principal: oldest(forSomebody) };
}

/** True if a policy names principals, and matches the request in every other respect. */
function needsPrincipal(policy: CompiledPolicy, context: EvaluationContext): boolean {
  return policy.principals !== null && isAbout({ ...policy, principals: null }, context);
}

/** Returns the policies that match, regardless of their conditions and limits. */
function candidatesIn(index: PolicyIndex, context: EvaluationContext, matches = isAbout): CompiledPolicy[] {
  const mayLimit = ({ limits }: CompiledPolicy): boolean => limits.length === 0 || context.usesLimits;
  return index.offered(
    context,
    (policy, _, use) => usesPath(policy, use) && matches(policy, context) && mayLimit(policy),
  );
}

/**
 * Finds how much of the resource matches each policy. If an allow does not apply to the type of a request, the type is
 * at fault, and not the resource.
 */
function resourceMeets(index: PolicyIndex, { request }: EvaluationContext): ResourceMeets {
  const meets = new Map<CompiledPolicy, 'whole' | 'but for the type'>();
  index.each(request, (policy, use) => {
    if (usesPath(policy, use)) meets.set(policy, 'whole');
    else if (policy.isAllow && use.allow === 'typed' && !meets.has(policy)) meets.set(policy, 'but for the type');
  });
  return meets;
}

/** Returns the parts that do not match, except the conditions, which are only evaluated if they can matter. */
function missingParts(policy: CompiledPolicy, context: EvaluationContext, meets: ResourceMeets): PolicyPart[] {
  const met = meets.get(policy);
  const missing: PolicyPart[] = [];
  if (!isForSubject(policy, context)) missing.push('subject');
  if (!isForAction(policy, context)) missing.push('action');
  if (met === undefined) missing.push('resource');
  if (met === 'but for the type' || !isForType(policy, context)) missing.push('resourceType');
  if (!isForPrincipal(policy, context)) missing.push('onBehalfOf');
  return missing;
}

function matchedBy({ reference, rank }: CompiledPolicy, highest: number): MatchedPolicy {
  if (rank === highest) return { policy: reference, decided: true, lostTo: null };
  return { policy: reference, decided: false, lostTo: priorityOf(rank) < priorityOf(highest) ? 'priority' : 'effect' };
}

/**
 * Returns the nearest policies that would have the highest rank alone. A policy that ranks below the current decision,
 * or equal to it, would change nothing.
 */
function nearestOf(
  near: ReadonlyMap<CompiledPolicy, readonly PolicyPart[]>,
  highest: number,
  effect: PolicyEffect,
): NearPolicy[] {
  const strength = (each: PolicyEffect): number => POLICY_EFFECTS.indexOf(each);
  return [...near]
    .filter(([{ rank, reference }]) => rank > highest && strength(reference.effect) < strength(effect))
    .sort(([left], [right]) => priorityOf(right.rank) - priorityOf(left.rank) || compareByAge(left, right))
    .slice(0, MAX_NEAREST)
    .map(([{ reference: policy }, missing]) => ({ policy, missing }));
}

/**
 * Returns the effect of deciding policies: an approval that is too large to give is a denial. Null if there are no
 * policies.
 */
function effectOf(deciding: readonly CompiledPolicy[]): PolicyEffect | null {
  const { effect, requirement } = combineEffects(deciding);
  return requirement !== null && isTooLarge(requirement) ? 'deny' : effect;
}
