import type { Decimal } from '../../../core/values/decimal';
import type { ConditionFacts, ConditionQuestion, ConditionRequest } from '../conditions/condition';
import type { LimitUse } from '../limits/limit';
import type { ApprovalRequirement } from '../approval/approval-requirement';

/**
 * What a policy says about the actions it matches, weakest first: among policies of equal priority the strongest
 * decides.
 */
export const POLICY_EFFECTS = ['allow', 'require_approval', 'deny'] as const;

export type PolicyEffect = (typeof POLICY_EFFECTS)[number];

export interface EvaluationRequest extends ConditionRequest {
  readonly action: string;
  /** The hash of what is requested, for limits that count equal requests; absent: all requests count together. */
  readonly actionHash?: () => string;
  /**
   * Skips policies with conditions or limits, as the review of a decision has no parameters, and those that require approval: a
   * review does not wait for another decision.
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
  /** Null if no policy matches. */
  readonly effect: PolicyEffect | null;
  /** The policies that decided, oldest first, at most {@link MAX_DECIDING_POLICIES}. */
  readonly policies: readonly DecidingPolicy[];
  /**
   * The combined requirement of all policies that decided, not only those listed; null unless they require approval.
   */
  readonly requirement: ApprovalRequirement | null;
  /** What is taken from the limits of policies that allow, the oldest policy first; present if there are such. */
  readonly limitUses?: readonly LimitUse[] | undefined;
  /**
   * The limits that kept policies from matching whose priority is that of the deciding ones or higher; present if there
   * are such.
   */
  readonly reachedLimits?: readonly LimitUse[] | undefined;
  /**
   * What conditions asked besides the request of policies whose priority is that of the deciding ones or higher; present
   * if they did.
   */
  readonly consultedFacts?: readonly FactQuery[] | undefined;
  /**
   * The version of the IANA database; present if a policy about the request whose priority is that of the deciding ones or
   * higher has a condition on a clock, or a limit in a zone.
   */
  readonly zones?: string | undefined;
}

/** What a condition of a policy asks besides the request. */
export type FactQuery = ConditionQuestion & {
  readonly policyId: string;
  /** Its index among the conditions. */
  readonly condition: number;
};

/** Facts that policies need in addition to the request, gathered before they decide. */
export interface Facts extends ConditionFacts {
  /** By {@link sumName}, what was used; a sum that is missing is zero. Absent: no limit counts as reached. */
  readonly sums?: ReadonlyMap<string, Decimal> | undefined;
}

export const MAX_DECIDING_POLICIES = 10;
