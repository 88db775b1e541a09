import { compareByRank, compilePolicy } from './compiled-policy';
import type { CompiledPolicy, Names, PolicyRules } from './compiled-policy';
import type { Evaluation, EvaluationRequest } from './evaluation-request';
import { PolicyIndex } from './policy-index';
import { ResourceProbe } from './resource-probe';
import { Verdict } from './verdict';
import { WidePolicyIndex } from './wide-policy-index';

/** Combinations of subject, action, resource type and resource up to which a policy is filed under each of them. */
const MAX_COMBINATIONS = 256;

/** The policies in force, and the answer to whether they let an agent do something. */
export class PolicyEvaluator {
  private readonly policies = new Map<string, CompiledPolicy>();
  private readonly index = new PolicyIndex();
  private readonly wide = new WidePolicyIndex();

  get size(): number {
    return this.policies.size;
  }

  /** Adding many at once in the order of their rank spares moving those already there. */
  addAll(policies: readonly PolicyRules[]): void {
    for (const policy of policies.map(compilePolicy).sort(compareByRank)) this.file(policy);
  }

  /** Puts a policy in force; one that is in force already stays. */
  add(policy: PolicyRules): void {
    this.file(compilePolicy(policy));
  }

  /** Takes a policy out of force; nothing happens when it is not. */
  remove(id: string): void {
    const policy = this.policies.get(id);
    if (policy === undefined) return;
    this.policies.delete(id);
    this.indexOf(policy).remove(policy);
  }

  evaluate(request: EvaluationRequest): Evaluation {
    const probe = new ResourceProbe(request.resourceType, request.resourceId);
    const verdict = new Verdict();
    this.index.evaluate(request, probe, verdict);
    this.wide.evaluate(request, probe, verdict);
    return verdict.evaluation();
  }

  private file(policy: CompiledPolicy): void {
    const { id } = policy.reference;
    if (this.policies.has(id)) return;
    this.policies.set(id, policy);
    this.indexOf(policy).add(policy);
  }

  private indexOf(policy: CompiledPolicy): PolicyIndex | WidePolicyIndex {
    return combinationsOf(policy) > MAX_COMBINATIONS ? this.wide : this.index;
  }
}

function combinationsOf(policy: CompiledPolicy): number {
  const subjects = sizeOf(policy.agents) + sizeOf(policy.roles);
  return subjects * sizeOf(policy.actions) * sizeOf(policy.resourceTypes) * policy.resources.length;
}

function sizeOf(names: Names): number {
  return names === 'any' ? 1 : names.size;
}
