import type { PermissionAnswer } from '../authorization/permission';
import type { MatchedPolicy, NearPolicy } from '../policies/evaluation/explanation';
import type { PolicyEffect } from '../policies/evaluation/policy-effect';
import type { PolicySnapshot } from '../policies/evaluation/policy-evaluator';
import type { EvaluationSubject } from '../policies/patterns/subject';
import type { AskedPermission } from './asked-permission';

export interface AnswerExplanation {
  readonly inForce: number;
  readonly matched: readonly MatchedPolicy[];
  readonly nearest: readonly NearPolicy[];
  /** The best effect that any parameters could have. */
  readonly bestEffect: PolicyEffect;
}

/** For an agent that is suspended or lacks the capability: evaluated as if it could act, and without near misses. */
export function explained(
  subject: EvaluationSubject,
  { action, resourceType, resourceId, parameters }: AskedPermission,
  { effect, reason }: PermissionAnswer,
  policies: PolicySnapshot,
  defaultEffect: PolicyEffect,
): AnswerExplanation {
  const explanation = policies.explain({ subject, action, resourceType, resourceId, parameters });
  const { inForce, matched } = explanation;
  const isUnable = reason === 'agent_suspended' || reason === 'capability_missing';
  if (isUnable) return { inForce, matched, nearest: [], bestEffect: 'deny' };
  return {
    ...{ inForce, matched },
    nearest: explanation.nearMisses(effect),
    bestEffect: explanation.bestEffect(defaultEffect),
  };
}
