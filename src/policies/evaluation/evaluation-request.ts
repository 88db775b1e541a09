import type { JsonObject } from '../../json/json-value';
import type { ApprovalRequirement } from '../approval/approval-requirement';
import type { EvaluationSubject } from '../patterns/subject';
import type { PolicyEffect } from './policy-effect';

export interface EvaluationRequest {
  readonly subject: EvaluationSubject;
  readonly action: string;
  readonly resourceType: string;
  /** A resource path or name; a leading `/` is ignored. */
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /**
   * Policies with conditions are left out, as a review of a decision has no parameters, and those that require an approval: it
   * waits for no other decision.
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
  /** Null when no policy matches. */
  readonly effect: PolicyEffect | null;
  /** Those that decided, oldest first, at most {@link MAX_DECIDING_POLICIES}. */
  readonly policies: readonly DecidingPolicy[];
  /** What all policies that decided require together, not only those shown; null unless they require approval. */
  readonly requirement: ApprovalRequirement | null;
}

export const MAX_DECIDING_POLICIES = 10;
