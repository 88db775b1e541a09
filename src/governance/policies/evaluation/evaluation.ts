import type { JsonObject } from '../../../core/json/json-value';
import type { ApprovalRequirement } from '../approval/approval-requirement';
import type { EvaluationSubject } from '../patterns/subjects';

/**
 * What a policy says about the actions it matches, weakest first: among policies of equal priority the strongest
 * decides.
 */
export const POLICY_EFFECTS = ['allow', 'require_approval', 'deny'] as const;

export type PolicyEffect = (typeof POLICY_EFFECTS)[number];

export interface EvaluationRequest {
  readonly subject: EvaluationSubject;
  readonly action: string;
  readonly resourceType: string;
  /** A resource path or name; a leading `/` is ignored. */
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** The time of the request: ISO 8601 in UTC with milliseconds. */
  readonly at: string;
  /**
   * Skips policies with conditions, as the review of a decision has no parameters, and those that require approval: a
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
}

export const MAX_DECIDING_POLICIES = 10;
