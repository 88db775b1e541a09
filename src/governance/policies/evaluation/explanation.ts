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
  isForType,
  matchesConditions,
  mayUse,
  priorityOf,
  usesPath,
} from './compiled-policy';
import { POLICY_EFFECTS, type DecidingPolicy, type PolicyEffect } from './evaluation';
import { type PolicyIndex, combineEffects } from './policy-index';

export const MOST_MATCHED = 100;
export const MOST_NEAREST = 20;

/** The parts of a policy that a request has to match. */
export const POLICY_PARTS = ['subject', 'action', 'resource', 'resourceType', 'conditions', 'onBehalfOf'] as const;
export type PolicyPart = (typeof POLICY_PARTS)[number];

export interface MatchedPolicy {
  readonly policy: DecidingPolicy;
  readonly decided: boolean;
  /** Why it did not decide: another policy has a higher priority, or at the same priority a stronger effect. */
  readonly lostTo: 'priority' | 'effect' | null;
}

/** A policy that would match but for one part. */
export interface NearPolicy {
  readonly policy: DecidingPolicy;
  readonly missing: readonly PolicyPart[];
}

/** Why policies decide as they do on a request. */
export interface Explanation {
  /** Number of policies in force. */
  readonly inForce: number;
  /** The deciding policies first, then by priority, effect and age; at most {@link MOST_MATCHED}. */
  readonly matched: readonly MatchedPolicy[];
  /** Policies that fail in one part, and would otherwise change the effect. By priority, then the oldest. */
  readonly nearMisses: (effect: PolicyEffect) => readonly NearPolicy[];
  /** What the limits of policies are asked for that match otherwise; the oldest policy first. */
  readonly limits: readonly LimitUse[];
}

/** How far the resource of a request matches a policy; a policy that is missing does not match. */
type ResourceMeets = ReadonlyMap<CompiledPolicy, 'whole' | 'but for the type'>;

/** Examines every policy individually: this answers single questions, not thousands. */
export function explanationOf(
  policies: ReadonlyMap<string, CompiledPolicy>,
  index: PolicyIndex,
  asked: EvaluationContext,
): Omit<Explanation, 'limits'> {
  const meets = resourceMeets(index, asked);
  const matching: CompiledPolicy[] = [];
  const near = new Map<CompiledPolicy, readonly PolicyPart[]>();
  for (const policy of policies.values()) {
    // What a limit keeps from matching lacks no part.
    if (policy.limits.length > 0 && !mayUse(policy, asked)) continue;
    const missing = missingParts(policy, asked, meets);
    if (missing.length === 0) matching.push(policy);
    if (missing.length === 1) near.set(policy, missing);
  }
  matching.sort(compareByRank);
  const rank = matching[0]?.rank ?? -Infinity;
  return {
    inForce: policies.size,
    matched: matching.slice(0, MOST_MATCHED).map((policy) => matchedBy(policy, rank)),
    nearMisses: (effect) => nearestOf(near, rank, effect),
  };
}

/**
 * The best effect that any parameters could have. Each policy with conditions or limits may match or not, as if none
 * depended on another.
 * @param otherwise what holds where no policy matches.
 */
export function bestEffectFor(index: PolicyIndex, asked: EvaluationContext, otherwise: PolicyEffect): PolicyEffect {
  const policies = conceivable(index, asked).sort(compareByRank);
  const certain = policies.filter(({ conditions, limits }) => conditions.length === 0 && limits.length === 0);
  const floor = certain[0]?.rank ?? -Infinity;
  const least = effectOf(certain.filter(({ rank }) => rank === floor)) ?? otherwise;
  // Each of them could decide alone.
  const effects = policies.filter(({ rank }) => rank > floor).map(({ reference }) => reference.effect);
  return POLICY_EFFECTS.find((effect) => effect === least || effects.includes(effect)) ?? least;
}

/** The oldest policies that would allow a request but for one thing. */
export interface NearAllows {
  /** But for its conditions or limits. */
  readonly conditions: DecidingPolicy | null;
  /** On behalf of a principal, as far as its conditions and limits let it, where the request is on nobody's behalf. */
  readonly principal: DecidingPolicy | null;
}

export function allowingOtherwise(index: PolicyIndex, asked: EvaluationContext): NearAllows {
  const oldest = (policies: CompiledPolicy[]): DecidingPolicy | null =>
    policies.filter(({ isAllow }) => isAllow).sort(compareByAge)[0]?.reference ?? null;
  const forSomebody = asked.principals === null ? conceivable(index, asked, isAboutSomebody) : [];
  return { conditions: oldest(conceivable(index, asked)), principal: oldest(forSomebody) };
}

/** Whether a policy names principals, and matches what is asked but for them. */
function isAboutSomebody(policy: CompiledPolicy, asked: EvaluationContext): boolean {
  return policy.principals !== null && isAbout({ ...policy, principals: null }, asked);
}

/** The policies that match but for their conditions and limits. */
function conceivable(index: PolicyIndex, asked: EvaluationContext, matches = isAbout): CompiledPolicy[] {
  const mayLimit = ({ limits }: CompiledPolicy): boolean => limits.length === 0 || asked.usesLimits;
  return index.offered(asked, (policy, _, use) => usesPath(policy, use) && matches(policy, asked) && mayLimit(policy));
}

/** For an allow that only applies to listed types, a missing match is blamed on the type and not on the resource. */
function resourceMeets(index: PolicyIndex, { request }: EvaluationContext): ResourceMeets {
  const meets = new Map<CompiledPolicy, 'whole' | 'but for the type'>();
  index.each(request, (policy, use) => {
    if (usesPath(policy, use)) meets.set(policy, 'whole');
    else if (policy.isAllow && use.allow === 'typed' && !meets.has(policy)) meets.set(policy, 'but for the type');
  });
  return meets;
}

function missingParts(policy: CompiledPolicy, asked: EvaluationContext, meets: ResourceMeets): PolicyPart[] {
  const met = meets.get(policy);
  const missing: PolicyPart[] = [];
  if (!isForSubject(policy, asked)) missing.push('subject');
  if (!isForAction(policy, asked)) missing.push('action');
  if (met === undefined) missing.push('resource');
  if (met === 'but for the type' || !isForType(policy, asked)) missing.push('resourceType');
  if (!matchesConditions(policy, asked)) missing.push('conditions');
  if (!isForPrincipal(policy, asked)) missing.push('onBehalfOf');
  return missing;
}

function matchedBy({ reference, rank }: CompiledPolicy, highest: number): MatchedPolicy {
  if (rank === highest) return { policy: reference, decided: true, lostTo: null };
  return { policy: reference, decided: false, lostTo: priorityOf(rank) < priorityOf(highest) ? 'priority' : 'effect' };
}

/**
 * A deciding policy has the highest rank, alone: one that ranks below the current decision, or equal to it, changes
 * nothing.
 */
function nearestOf(
  near: ReadonlyMap<CompiledPolicy, readonly PolicyPart[]>,
  highest: number,
  effect: PolicyEffect,
): NearPolicy[] {
  const strength = (of: PolicyEffect): number => POLICY_EFFECTS.indexOf(of);
  return [...near]
    .filter(([{ rank, reference }]) => rank > highest && strength(reference.effect) < strength(effect))
    .sort(([left], [right]) => priorityOf(right.rank) - priorityOf(left.rank) || compareByAge(left, right))
    .slice(0, MOST_NEAREST)
    .map(([{ reference: policy }, missing]) => ({ policy, missing }));
}

/** An approval that is too large to give is a denial. Null if there are no policies. */
function effectOf(deciding: readonly CompiledPolicy[]): PolicyEffect | null {
  const { effect, requirement } = combineEffects(deciding);
  return requirement !== null && isTooLarge(requirement) ? 'deny' : effect;
}
