import type { PolicyEffect } from './policy-effect';

/** The agent that wants to act. The name is in Unicode normal form C, as agents are stored. */
export interface EvaluationSubject {
  readonly agentId: string;
  readonly agentName: string;
  readonly roles: readonly string[];
}

export interface EvaluationRequest {
  readonly subject: EvaluationSubject;
  readonly action: string;
  readonly resourceType: string;
  /** A resource path or name; a leading `/` is ignored. */
  readonly resourceId: string;
}

export interface DecidingPolicy {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly effect: PolicyEffect;
}

/** `effect` is null when no policy matches. `policies` are those that decided, oldest first, at most {@link MAX_DECIDING_POLICIES}. */
export interface Evaluation {
  readonly effect: PolicyEffect | null;
  readonly policies: readonly DecidingPolicy[];
}

export const MAX_DECIDING_POLICIES = 10;
