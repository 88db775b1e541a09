import { matchesAction } from '../../../core/values/action-pattern';
import type { ApprovalRequirement } from '../approval/approval-requirement';
import type { PolicyLimit } from '../limits/limit';
import {
  type CompiledCondition,
  type ConditionFacts,
  type PolicyCondition,
  NO_FACTS,
  compileCondition,
  truthOf,
} from '../conditions/condition';
import { POLICY_EFFECTS, type DecidingPolicy, type EvaluationRequest, type PolicyEffect } from './evaluation';
import { bitsOf, type NameBits } from './name-bits';
import { subjectText } from '../patterns/subjects';
import {
  listedTypeFault,
  parseResourcePattern,
  resourcePatternFault,
  type ResourcePattern,
} from '../patterns/resources';

/** Members of a policy that determine which requests it matches, and the consequence. The patterns are valid. */
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
  /** Limits of an allow; empty for any other effect. */
  readonly limits: readonly PolicyLimit[];
  /** Patterns of principals; empty if the policy holds for any principal, or none. */
  readonly onBehalfOf: readonly string[];
  /** Null unless the effect is `require_approval`. */
  readonly approval: ApprovalRequirement | null;
  /** Team whose agents alone the policy applies to; null if it applies to everybody. */
  readonly team: string | null;
}

/** Texts that a policy lists, each once; null stands for everything. */
type Listed = readonly string[] | null;

export interface CompiledPolicy {
  readonly reference: DecidingPolicy;
  /** Rank by priority, then by strength of the effect. The matching policies of the highest rank decide. */
  readonly rank: number;
  readonly isAllow: boolean;
  readonly actions: Listed;
  readonly resourceTypes: Listed;
  /** Subjects as {@link subjectText} writes them; the principals likewise. */
  readonly subjects: Listed;
  /** Patterns of principals, `*` among them; null if the policy holds for any principal, or none. */
  readonly principals: Listed;
  readonly resources: readonly ResourcePattern[];
  readonly conditions: readonly CompiledCondition[];
  readonly limits: readonly PolicyLimit[];
  /** Required approval; null unless the effect is `require_approval`. */
  readonly approval: ApprovalRequirement | null;
  /** Team; null if the policy applies to everybody. */
  readonly team: string | null;
  /** Bits by which most policies that do not match are skipped. */
  readonly bits: NameBits;
}

/** A request, with the known facts about it. */
export interface EvaluationContext {
  readonly request: EvaluationRequest;
  /** Texts by which patterns may name the subject, except `*`. */
  readonly subjects: ReadonlySet<string>;
  /** Team of the subject; null if it has none. */
  readonly team: string | null;
  /** Texts by which patterns may name the principal, `*` among them; null if there is no principal. */
  readonly principals: ReadonlySet<string> | null;
  /** Facts; null to assume, for each policy, those that suit it best. */
  readonly facts: ConditionFacts | null;
  /** True if policies with limits can match: not for reviews, nor for subjects that are not registered agents. */
  readonly usesLimits: boolean;
  /** Ids of policies that only a limit keeps from matching. */
  readonly limitedPolicyIds: ReadonlySet<string>;
}

/** Policies for which a path of the request counts. */
export interface PathUse {
  readonly allow: 'every' | 'typed' | 'none';
  readonly others: boolean;
}

export function compilePolicy(policy: PolicyRules): CompiledPolicy {
  const { id, name, version, effect, approval, subjects, actions, resourceTypes, onBehalfOf, team } = policy;
  return {
    reference: Object.freeze({ id, name, version, effect }),
    rank: policy.priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect),
    isAllow: effect === 'allow',
    actions: actions.includes('*') ? null : [...new Set(actions)],
    // Stored types that would no longer be accepted match nothing.
    resourceTypes:
      resourceTypes.length === 0 ? null : resourceTypes.filter((type) => listedTypeFault(type) === undefined),
    subjects: subjects.includes('*') ? null : subjects.map(subjectText),
    principals: onBehalfOf.length === 0 ? null : onBehalfOf.map(subjectText),
    resources: compileResources(policy),
    conditions: policy.conditions.map(compileCondition),
    limits: policy.limits,
    approval,
    team,
    bits: {
      actions: bitsOf(actions.some((action) => action.endsWith('*')) ? null : actions),
      types: bitsOf(resourceTypes.length === 0 ? null : resourceTypes),
      subjects: bitsOf(subjects.includes('*') ? null : subjects.map(subjectText)),
    },
  };
}

/** A rank combines the priority and, below it, the effect. */
export function priorityOf(rank: number): number {
  return Math.floor(rank / POLICY_EFFECTS.length);
}

/** Highest rank first; within a rank the oldest first, since ids sort by creation. */
export function compareByRank(left: CompiledPolicy, right: CompiledPolicy): number {
  return left.rank === right.rank ? compareByAge(left, right) : right.rank - left.rank;
}

export function compareByAge({ reference: left }: CompiledPolicy, { reference: right }: CompiledPolicy): number {
  if (left.id === right.id) return 0;
  return left.id < right.id ? -1 : 1;
}

/** True if everything but the resource path matches the policy. */
export function matchesBesidesPath(policy: CompiledPolicy, context: EvaluationContext, use: PathUse): boolean {
  return (
    isAbout(policy, context) &&
    usesPath(policy, use) &&
    !(context.request.isReview === true && (policy.approval !== null || policy.conditions.length > 0)) &&
    (policy.limits.length === 0 || mayUse(policy, context)) &&
    matchesConditions(policy, context)
  );
}

/** True if everything but the resource path, conditions and limits matches the policy. */
export function isAbout(policy: CompiledPolicy, context: EvaluationContext): boolean {
  return (
    isForSubject(policy, context) &&
    isForType(policy, context) &&
    isForAction(policy, context) &&
    isForPrincipal(policy, context)
  );
}

export function isForType({ resourceTypes }: CompiledPolicy, { request }: EvaluationContext): boolean {
  return resourceTypes === null || resourceTypes.includes(request.resourceType);
}

export function isForAction({ actions }: CompiledPolicy, { request }: EvaluationContext): boolean {
  return actions === null || actions.some((pattern) => matchesAction(pattern, request.action));
}

/** True if the policy applies to the team of the subject. */
export function isForTeam({ team }: Pick<CompiledPolicy, 'team'>, context: Pick<EvaluationContext, 'team'>): boolean {
  return team === null || team === context.team;
}

export function isForSubject(policy: CompiledPolicy, context: EvaluationContext): boolean {
  return isForTeam(policy, context) && (policy.subjects === null || haveCommon(policy.subjects, context.subjects));
}

/** True if the principal matches. A missing principal must not evade a rule, so only an allow needs one. */
export function isForPrincipal({ principals, isAllow }: CompiledPolicy, context: EvaluationContext): boolean {
  if (principals === null) return true;
  return context.principals === null ? !isAllow : haveCommon(principals, context.principals);
}

function haveCommon(listed: readonly string[], names: ReadonlySet<string>): boolean {
  for (const text of listed) if (names.has(text)) return true;
  return false;
}

/**
 * True if limits permit a match: a policy with limits matches only registered agents, and only while no limit is
 * reached.
 */
export function mayUse({ reference }: CompiledPolicy, { usesLimits, limitedPolicyIds }: EvaluationContext): boolean {
  return usesLimits && !limitedPolicyIds.has(reference.id);
}

/**
 * True if the conditions match. A missing parameter must not evade a rule, so only an allow needs conditions that are
 * known to hold.
 */
export function matchesConditions(
  { conditions, isAllow }: CompiledPolicy,
  { request, facts }: EvaluationContext,
): boolean {
  if (conditions.length === 0) return true;
  const counting = facts === null ? conditions.filter(({ question }) => question === undefined) : conditions;
  const truth = truthOf(counting, request, facts ?? NO_FACTS);
  return isAllow ? truth === true : truth !== false;
}

/** True if a path of the request counts for the policy. */
export function usesPath({ isAllow, resourceTypes }: CompiledPolicy, { allow, others }: PathUse): boolean {
  if (!isAllow) return others;
  return allow === 'every' || (allow === 'typed' && resourceTypes !== null);
}

/** Stored patterns that would no longer be accepted match nothing. */
function compileResources({
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
