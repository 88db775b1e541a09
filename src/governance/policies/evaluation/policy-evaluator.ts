import { createHash } from 'node:crypto';
import { Turn } from '../../../core/concurrency/turn';
import { compilePolicy, type CompiledPolicy, type PolicyRules } from './compiled-policy';
import type { DecidingPolicy, Evaluation, EvaluationRequest, Facts, PolicyEffect } from './evaluation';
import { allowingOtherwise, bestEffectFor, explanationOf, type Explanation } from './explanation';
import { type Asks, AskingPolicies, NOTHING_ASKED, reachedAmong, withUses } from './asking-policies';
import { type AskedNames, PolicyNames } from './names';
import { ResourceIndex } from './resource-index';
import { Verdict } from './verdict';

/** Most policies that are added or removed in one turn of the event loop. */
const MOST_AT_ONCE = 50;

/**
 * Identifies a set of policies: the SHA-256, in hex, of the RFC 8785 array of their sorted ids. A policy is never edited,
 * so a decision can be checked against exactly the policies it was made by.
 */
export function policySetOf(ids: Iterable<string>): string {
  return createHash('sha256')
    .update(JSON.stringify([...ids].sort()))
    .digest('hex');
}

/** A set of policies, and whether it lets somebody do something. */
export type PolicySet = Pick<
  PolicyEvaluator,
  'policySet' | 'policySetWith' | 'version' | 'asks' | 'evaluate' | 'explain' | 'bestEffect' | 'allowingOtherwise'
>;

/**
 * Decides by the policies in force. They are filed by resource and action, in order of precedence; an evaluation only
 * looks where a match could still matter.
 */
export class PolicyEvaluator {
  private readonly names = new PolicyNames();
  private policies = new Map<string, CompiledPolicy>();
  private resources = new ResourceIndex();
  private asking = new AskingPolicies();
  private changes = 0;
  private knownSet: string | null = null;

  /** An evaluator for policies that need not be in force. */
  static async of(policies: readonly PolicyRules[]): Promise<PolicyEvaluator> {
    const evaluator = new PolicyEvaluator();
    await evaluator.change(policies, []);
    return evaluator;
  }

  get size(): number {
    return this.policies.size;
  }

  /** Differs whenever another set is in force. */
  get version(): number {
    return this.changes;
  }

  /** The set of policies in force, by {@link policySetOf}. */
  get policySet(): string {
    this.knownSet ??= policySetOf(this.policies.keys());
    return this.knownSet;
  }

  /** The same, once some policies have come into force and others have been removed. */
  policySetWith(added: readonly string[], removed: readonly string[]): string {
    const ids = new Set(this.policies.keys());
    for (const id of removed) ids.delete(id);
    for (const id of added) ids.add(id);
    return policySetOf(ids);
  }

  /** Puts policies in force; those already in force stay as they are. */
  add(policies: readonly PolicyRules[]): void {
    for (const policy of policies) {
      if (this.policies.has(policy.id)) continue;
      const compiled = compilePolicy(policy, this.names.take(policy));
      this.policies.set(policy.id, compiled);
      this.resources.add(compiled);
      this.asking.add(compiled);
    }
    this.changed();
  }

  /** Removes policies; those not in force are ignored. */
  remove(ids: readonly string[]): void {
    for (const id of ids) {
      const policy = this.policies.get(id);
      if (policy === undefined) continue;
      this.policies.delete(id);
      this.resources.remove(policy);
      this.asking.remove(policy);
      this.names.release(policy);
    }
    this.changed();
  }

  /**
   * Does both, and both take effect at once. Many policies are filed anew, in several turns of the event loop, and then
   * replace the others. To be finished before another change begins.
   */
  async change(added: readonly PolicyRules[], removed: readonly string[]): Promise<void> {
    if (added.length + removed.length <= MOST_AT_ONCE) {
      this.add(added);
      this.remove(removed);
      return;
    }
    const turn = new Turn();
    const policies = new Map(this.policies);
    const gone = removed.flatMap((id) => policies.get(id) ?? []);
    for (const { reference } of gone) policies.delete(reference.id);
    for (const policy of added) {
      if (turn.isOver) await turn.next();
      if (!policies.has(policy.id)) policies.set(policy.id, compilePolicy(policy, this.names.take(policy)));
    }
    const resources = new ResourceIndex();
    for (const policy of policies.values()) {
      if (turn.isOver) await turn.next();
      resources.add(policy);
    }
    this.policies = policies;
    this.resources = resources;
    this.asking = new AskingPolicies(policies.values());
    for (const policy of gone) this.names.release(policy);
    this.changed();
  }

  /** What has to be known besides the request for {@link evaluate}. Mostly nothing. */
  asks(request: EvaluationRequest): Asks {
    return this.asking.isEmpty ? NOTHING_ASKED : this.asking.asks(request, this.names.asked(request));
  }

  /** @param facts what the policies ask; without them no limit counts as reached, and nothing else is known. */
  evaluate(request: EvaluationRequest, facts?: Facts): Evaluation {
    const asked = this.names.asked(request, facts);
    if (facts === undefined || this.asking.isEmpty) return this.verdict(request, asked);
    const matches = this.asking.uses(request, asked, facts);
    const evaluation = this.verdict(request, { ...asked, reached: reachedAmong(matches) });
    const [first] = evaluation.policies;
    const rank = (first && this.policies.get(first.id)?.rank) ?? -Infinity;
    const looked = this.asking.looked(request, asked, rank);
    return { ...withUses(evaluation, rank, matches), ...(looked.length > 0 && { looked }) };
  }

  explain(request: EvaluationRequest, facts?: Facts): Explanation {
    const asked = this.names.asked(request, facts);
    const matches = facts === undefined || this.asking.isEmpty ? [] : this.asking.uses(request, asked, facts);
    const reached = matches.length === 0 ? asked : { ...asked, reached: reachedAmong(matches) };
    const explanation = explanationOf(this.policies, this.resources, reached, request);
    return { ...explanation, limits: matches.flatMap(({ uses }) => uses) };
  }

  /** The best effect that a request could have, whatever conditions ask for. */
  bestEffect(request: EvaluationRequest, otherwise: PolicyEffect): PolicyEffect {
    return bestEffectFor(this.resources, this.names.asked(request), request, otherwise);
  }

  /** Of a request that no policy decides on: the oldest one that would allow it with other parameters or facts. */
  allowingOtherwise(request: EvaluationRequest): DecidingPolicy | null {
    return allowingOtherwise(this.resources, this.names.asked(request), request);
  }

  private verdict(request: EvaluationRequest, asked: AskedNames): Evaluation {
    const verdict = new Verdict(asked);
    this.resources.offer(request, verdict);
    return verdict.evaluation();
  }

  private changed(): void {
    this.changes += 1;
    this.knownSet = null;
  }
}
