import type { Decimal } from '../../../core/values/decimal';
import type { ConditionFacts, ConditionQuestion, ConditionRequest } from '../conditions/condition';
import type { LimitUse } from '../limits/limit';
import type { ApprovalRequirement } from '../approval/approval-requirement';

/** Effects of policies, weakest first: among policies of equal priority the strongest decides. */
export const POLICY_EFFECTS = ['allow', 'require_approval', 'deny'] as const;

export type PolicyEffect = (typeof POLICY_EFFECTS)[number];

export interface EvaluationRequest extends ConditionRequest {
  readonly action: string;
  /** Hash of the requested action, for limits that count equal requests; absent if all requests count together. */
  readonly actionHash?: () => string;
  /**
   * True to skip policies with conditions or limits, because the review of a decision has no parameters, and those that
   * require approval, because a review does not wait for another decision.
   */
  readonly isReview?: boolean;
}

export interface DecidingPolicy {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly effect: PolicyEffect;
}

export interface Evaluation {
  /** Effect; null if no policy matches. */
  readonly effect: PolicyEffect | null;
  /** The policies that decided, oldest first, at most {@link MAX_DECIDING_POLICIES}. */
  readonly policies: readonly DecidingPolicy[];
  /**
   * The combined requirement of all policies that decided, not only those listed; null unless they require approval.
   */
  readonly requirement: ApprovalRequirement | null;
  /** Uses taken from the limits of policies that allow, the oldest policy first; present if there are any. */
  readonly limitUses?: readonly LimitUse[] | undefined;
  /** Limits that kept policies of the deciding priority or a higher one from matching; present if there are any. */
  readonly reachedLimits?: readonly LimitUse[] | undefined;
  /** Facts that conditions of policies of the deciding priority or a higher one looked up; present if there are any. */
  readonly consultedFacts?: readonly FactQuery[] | undefined;
  /**
   * Version of the IANA database; present if a policy about the request, of the deciding priority or a higher one, has
   * a condition on a clock, or a limit in a zone.
   */
  readonly zones?: string | undefined;
}

/** A fact that a condition of a policy needs in addition to the request. */
export type FactQuery = ConditionQuestion & {
  readonly policyId: string;
  /** Index of the condition in the policy. */
  readonly condition: number;
};

/** Facts that policies need in addition to the request, gathered before they decide. */
export interface Facts extends ConditionFacts {
  /** Used sums by {@link sumName}; a missing sum is zero. Absent if no limit counts as reached. */
  readonly sums?: ReadonlyMap<string, Decimal> | undefined;
}

export const MAX_DECIDING_POLICIES = 10;
