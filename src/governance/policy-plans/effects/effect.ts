import type { PolicyRules } from '../../policies/evaluation/compiled-policy';
import type { AgentSubject } from '../../policies/patterns/subjects';
import type { PlannedEffectResponse } from '../dto/policy-plan.response';

/** A policy, and whether it is in force before and after the plan. */
export interface PlannedPolicy extends PolicyRules {
  readonly isBefore: boolean;
  readonly isAfter: boolean;
  /** It is to be created; its id only determines its order. */
  readonly isNew: boolean;
}

export interface EffectsOrder {
  readonly policies: readonly PlannedPolicy[];
  readonly agents: readonly AgentSubject[];
  /** Milliseconds. */
  readonly timeout: number;
}

export interface FoundEffects {
  readonly effects: readonly PlannedEffectResponse[];
  /** Why these are not all; null: they are. */
  readonly reason: string | null;
}
