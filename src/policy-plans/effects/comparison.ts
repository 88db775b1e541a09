import type { AgentSubject } from '../../policies/patterns/subject';
import { Budget, OutOfTime } from './budget';
import type { PlannedPolicy } from './effect';
import { plannedMatches } from './planned-match';
import { policyEffects } from './policy-effects';
import { shadowedPolicies } from './shadowed';
import { SubjectClasses } from './subject-classes';

/** A comparison is reported in parts, so that no part takes long to hand over. */
export type ComparisonPart =
  | { readonly policies: readonly PlannedPolicy[] }
  | { readonly agents: readonly AgentSubject[] }
  /** Everything is reported; milliseconds that the answer may take. */
  | { readonly timeout: number };

/** What was found, as texts of JSON: objects would take long to receive from a thread. */
export interface ComparedPolicies {
  /** Each an `Effect`. */
  readonly effects: readonly string[];
  /** Why these are not all; null: they are. */
  readonly reason: string | null;
  /** Each a `ShadowedPolicy`. */
  readonly shadowed: readonly string[];
}

/** Computes what changes between two sets of policies, and which of the second never decide. */
export class Comparison {
  private readonly policies: PlannedPolicy[] = [];
  private readonly agents: AgentSubject[] = [];

  /** The answer, once everything is reported. */
  take(part: ComparisonPart): ComparedPolicies | null {
    if ('timeout' in part) return this.answer(part.timeout);
    if ('policies' in part) this.policies.push(...part.policies);
    else this.agents.push(...part.agents);
    return null;
  }

  private answer(timeout: number): ComparedPolicies {
    const start = performance.now();
    const { effects, reason } = policyEffects({ policies: this.policies, agents: this.agents, timeout });
    // At least half a second: finding shadowed policies takes little, but finding changes may have used up all the
    // time.
    const budget = new Budget(Math.max(500, timeout - (performance.now() - start)));
    const target = this.policies.filter(({ isAfter }) => isAfter);
    const shadowed: string[] = [];
    try {
      const found = shadowedPolicies(plannedMatches(target, new SubjectClasses([], [])), () => budget.step());
      for (const policy of found) shadowed.push(JSON.stringify(policy));
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
      budget.leaveOut('Which policies are shadowed could not be found in time.');
    }
    return { effects: effects.map((effect) => JSON.stringify(effect)), reason: reason ?? budget.reason, shadowed };
  }
}
