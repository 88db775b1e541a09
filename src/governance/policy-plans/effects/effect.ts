import type { ApproverGroup } from '../../policies/approval/approval-requirement';
import type { PolicyRules } from '../../policies/evaluation/compiled-policy';
import type { AgentSubject } from '../../policies/patterns/subjects';

/** A policy, and whether it is in force before and after the plan. */
export interface PlannedPolicy extends PolicyRules {
  readonly isBefore: boolean;
  readonly isAfter: boolean;
  /** It is to be created; its id only determines its order. */
  readonly isNew: boolean;
}

/** The answer to a request. */
export interface PlannedVerdict {
  readonly effect: 'allow' | 'deny' | 'require_approval' | 'no_policy';
  /** With `require_approval` only. */
  readonly approvers?: readonly ApproverGroup[];
}

/** Everything that one of `in` matches and none of `except`. */
export interface PatternSet {
  readonly in: readonly string[];
  readonly except: readonly string[];
}

export interface PolicyVersion {
  readonly name: string;
  readonly version: string;
}

/** How a plan refers to a policy: one that is to be created has no id yet. */
export interface PlannedReference extends PolicyVersion {
  readonly id: string | null;
}

/** Requests that would be answered differently. */
export interface Effect {
  readonly from: PlannedVerdict;
  readonly to: PlannedVerdict;
  readonly subjects: readonly string[];
  readonly actions: PatternSet;
  readonly resourceTypes: PatternSet;
  readonly resources: PatternSet;
  readonly when: { readonly hold: readonly PolicyVersion[]; readonly fail: readonly PolicyVersion[] };
  readonly because: { readonly from: readonly PlannedReference[]; readonly to: readonly PlannedReference[] };
}

export interface EffectsOrder {
  readonly policies: readonly PlannedPolicy[];
  readonly agents: readonly AgentSubject[];
  /** Milliseconds. */
  readonly timeout: number;
}

export interface FoundEffects {
  readonly effects: readonly Effect[];
  /** Why these are not all; null: they are. */
  readonly reason: string | null;
}
