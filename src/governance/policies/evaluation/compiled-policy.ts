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
  /** It applies only to agents of this team; null: to everybody. */
  readonly team: string | null;
}

/** What a policy lists, each once; null stands for everything. */
type Listed = readonly string[] | null;

export interface CompiledPolicy {
  readonly reference: DecidingPolicy;
  /** Orders by priority, then by strength of the effect; of the matching policies, those of the highest rank decide. */
  readonly rank: number;
  readonly isAllow: boolean;
  readonly actions: Listed;
  readonly resourceTypes: Listed;
  /** As {@link subjectText} has them; the same of the principals. */
  readonly subjects: Listed;
  /** Patterns of principals, `*` among them; null: it does not matter on whose behalf. */
  readonly principals: Listed;
  readonly resources: readonly ResourcePattern[];
  readonly conditions: readonly CompiledCondition[];
  readonly limits: readonly PolicyLimit[];
  /** What the policy requires; null unless it requires approval. */
  readonly approval: ApprovalRequirement | null;
  /** Null: it applies to everybody. */
  readonly team: string | null;
  /** By which most policies that do not match are passed over. */
  readonly bits: NameBits;
}

/** A request, and what is known about it. */
export interface EvaluationContext {
  readonly request: EvaluationRequest;
  /** What patterns may call the subject, besides `*`. */
  readonly subjects: ReadonlySet<string>;
  /** That of the subject; null: it is in none. */
  readonly team: string | null;
  /** What patterns may call the principal, `*` among them; null: the agent acts on nobody's behalf. */
  readonly principals: ReadonlySet<string> | null;
  /** Null: for each policy, the facts are taken to be those that suit it best. */
  readonly facts: ConditionFacts | null;
  /** Whether policies with limits can match: not for reviews, or subjects that are not registered agents. */
  readonly usesLimits: boolean;
  /** The ids of policies that match but for a limit. */
  readonly limitedPolicyIds: ReadonlySet<string>;
}

/** The policies for which a path of the request counts. */
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

/** Whether the policy matches in everything but the resource path. */
export function matchesBesidesPath(policy: CompiledPolicy, context: EvaluationContext, use: PathUse): boolean {
  return (
    isAbout(policy, context) &&
    usesPath(policy, use) &&
    !(context.request.isReview === true && (policy.approval !== null || policy.conditions.length > 0)) &&
    (policy.limits.length === 0 || mayUse(policy, context)) &&
    matchesConditions(policy, context)
  );
}

/** Whether the policy matches in everything but the resource path, conditions and limits. */
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

/** Whether the policy applies to the team of the subject: to no other team's agents it exists. */
export function isForTeam({ team }: Pick<CompiledPolicy, 'team'>, context: Pick<EvaluationContext, 'team'>): boolean {
  return team === null || team === context.team;
}

export function isForSubject(policy: CompiledPolicy, context: EvaluationContext): boolean {
  return isForTeam(policy, context) && (policy.subjects === null || haveCommon(policy.subjects, context.subjects));
}

/** Leaving the principal out must not evade a rule, either: only an allow needs one. */
export function isForPrincipal({ principals, isAllow }: CompiledPolicy, context: EvaluationContext): boolean {
  if (principals === null) return true;
  return context.principals === null ? !isAllow : haveCommon(principals, context.principals);
}

function haveCommon(listed: readonly string[], names: ReadonlySet<string>): boolean {
  for (const text of listed) if (names.has(text)) return true;
  return false;
}

/** A policy with limits matches only registered agents, and only while no limit is reached. */
export function mayUse({ reference }: CompiledPolicy, { usesLimits, limitedPolicyIds }: EvaluationContext): boolean {
  return usesLimits && !limitedPolicyIds.has(reference.id);
}

/** Leaving a parameter out must not evade a rule: only an allow needs its conditions to be known to hold. */
export function matchesConditions(
  { conditions, isAllow }: CompiledPolicy,
  { request, facts }: EvaluationContext,
): boolean {
  if (conditions.length === 0) return true;
  const counting = facts === null ? conditions.filter(({ question }) => question === undefined) : conditions;
  const truth = truthOf(counting, request, facts ?? NO_FACTS);
  return isAllow ? truth === true : truth !== false;
}

/** Whether a path of the request counts for the policy. */
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
