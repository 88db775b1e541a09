import type { AgentSubject } from '../../policies/patterns/subjects';
import { Budget, OutOfTime } from './budget';
import { type PlannedPolicy, plannedMatches } from './planned-match';
import { type FoundEffects, policyEffects } from './policy-effects';
import { shadowedPolicies } from './shadowed';
import type { ShadowedPolicyResponse } from '../dto/policy-plan.response';
import { SubjectClasses } from './subject-classes';
import { MAX_CAPABILITIES, planWarning, unknownNames } from '../../policies/unknown-names';

/** One more than a plan shows, so that the plan can say that there are more. */
const MAX_NAME_WARNINGS = 1_001;

type CapableAgent = AgentSubject & { readonly capabilities: readonly string[] };

/** A part of a comparison's input, which is sent in parts, so that no part takes long. */
export type ComparisonPart =
  | { readonly policies: readonly PlannedPolicy[] }
  | { readonly agents: readonly CapableAgent[] }
  | LastPart;

/** The last part, after which the comparison begins. */
interface LastPart {
  /** Milliseconds that the result may take. */
  readonly timeout: number;
  /** Team whose policies change; null for policies of no team. */
  readonly team: string | null;
  /** True if only the effects are computed, without shadowed policies and warnings. */
  readonly hasEffectsOnly?: boolean;
}

export interface ComparedPolicies extends FoundEffects {
  readonly shadowed: readonly ShadowedPolicyResponse[];
  /** Warnings about names that are not registered. */
  readonly warnings: readonly string[];
}

/** Computes the changes between two sets of policies, and which policies of the second never decide or name nobody. */
export class PolicyComparison {
  private readonly policies: PlannedPolicy[] = [];
  private readonly agents: AgentSubject[] = [];
  private readonly capabilities = new Set<string>();

  /** Takes a part of the input, and returns the result after the last one; null before. */
  async take(part: ComparisonPart): Promise<ComparedPolicies | null> {
    if ('timeout' in part) return part.hasEffectsOnly === true ? this.effects(part) : this.answer(part);
    if ('policies' in part) this.policies.push(...part.policies);
    else for (const agent of part.agents) this.add(agent);
    return null;
  }

  private add({ capabilities, ...agent }: CapableAgent): void {
    this.agents.push(agent);
    if (this.capabilities.size > MAX_CAPABILITIES) return;
    for (const capability of capabilities) this.capabilities.add(capability);
  }

  private effects({ timeout, team }: LastPart): ComparedPolicies {
    return { ...policyEffects(this.policies, this.agents, timeout, team), shadowed: [], warnings: [] };
  }

  private async answer({ timeout, team }: LastPart): Promise<ComparedPolicies> {
    const start = performance.now();
    const { effects, reason } = policyEffects(this.policies, this.agents, timeout, team);
    // At least half a second: shadowed policies are found quickly, but finding changes may have used up all the time.
    const budget = new Budget(Math.max(500, timeout - (performance.now() - start)));
    const target = this.policies.filter(({ isAfter }) => isAfter);
    let shadowed: readonly ShadowedPolicyResponse[] = [];
    try {
      shadowed = shadowedPolicies(plannedMatches(target, new SubjectClasses([], [], team)), () => budget.step());
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
      budget.leaveOut('Which policies are shadowed could not be found in time.');
    }
    const capabilities = this.capabilities.size > MAX_CAPABILITIES ? null : this.capabilities;
    const warnings = await unknownNames(this.policies, { agents: this.agents, capabilities }, MAX_NAME_WARNINGS);
    return { effects, reason: reason ?? budget.reason, shadowed, warnings: warnings.map(planWarning) };
  }
}
