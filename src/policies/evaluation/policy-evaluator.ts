import { compilePolicy } from './compiled-policy';
import type { CompiledPolicy, PolicyRules } from './compiled-policy';
import type { Evaluation, EvaluationRequest } from './evaluation-request';
import { PolicyNames, releaseNames } from './policy-names';
import { PolicyOrder } from './policy-order';
import { ResourceIndex } from './resource-index';
import { Verdict } from './verdict';

/**
 * The policies in force, and the answer to whether they let an agent do something. They are filed by resource and action, in
 * the order in which they count; an evaluation looks only where a match can be that still counts.
 */
export class PolicyEvaluator {
  private readonly policies = new Map<string, CompiledPolicy>();
  private readonly names = new PolicyNames();
  private readonly order = new PolicyOrder();
  private readonly resources = new ResourceIndex();

  get size(): number {
    return this.policies.size;
  }

  /** Puts policies in force; one that is in force already stays. */
  addAll(policies: readonly PolicyRules[]): void {
    const added: CompiledPolicy[] = [];
    for (const policy of policies) {
      if (this.policies.has(policy.id)) continue;
      const compiled = compilePolicy(policy, this.names.take(policy));
      this.policies.set(policy.id, compiled);
      added.push(compiled);
    }
    this.order.add(added);
    for (const policy of added) this.resources.add(policy);
  }

  /** Puts a policy in force; one that is in force already stays. */
  add(policy: PolicyRules): void {
    this.addAll([policy]);
  }

  /** Takes a policy out of force; nothing happens when it is not. */
  remove(id: string): void {
    const policy = this.policies.get(id);
    if (policy === undefined) return;
    this.policies.delete(id);
    this.resources.remove(policy);
    this.order.remove(policy);
    releaseNames(policy);
  }

  evaluate(request: EvaluationRequest): Evaluation {
    const asked = this.names.asked(request);
    const verdict = new Verdict(asked);
    this.resources.offer(request, verdict);
    return verdict.evaluation();
  }
}
