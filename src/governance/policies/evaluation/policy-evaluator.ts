import { withSharedActions } from './fact-bounds';
import { createHash } from 'node:crypto';
import { yieldBetween } from '../../../core/concurrency/time-slice';
import { ZERO } from '../../../core/values/decimal';
import { sumName } from '../../../ledger/records/sum-key';
import { type ConditionFacts, NO_FACTS } from '../conditions/condition';
import { ZONES_VERSION } from '../../../core/values/time-zone';
import { askedUses, type RequestedUse, fits, type LimitUse } from '../limits/limit';
import { windowsAt } from '../limits/limit-window';
import { teamOf, textsOf } from '../patterns/subjects';
import {
  type EvaluationContext,
  compareByAge,
  compilePolicy,
  type CompiledPolicy,
  isAbout,
  matchesBesidesPath,
  matchesConditions,
  type PolicyRules,
  priorityOf,
  usesPath,
} from './compiled-policy';
import type { FactQuery, Evaluation, EvaluationRequest, Facts, PolicyEffect } from './evaluation';
import {
  allowingOtherwise,
  bestEffectFor,
  explanationSteps,
  type Explanation,
  type NearAllows,
  policiesToExplain,
} from './explanation';
import { PolicyIndex, verdictOn } from './policy-index';

/**
 * Identifies a set of policies by the SHA-256, in hex, of the RFC 8785 array of their sorted ids. A policy is never
 * edited, so a decision can be checked against exactly its policies.
 */
export function policySetOf(ids: Iterable<string>): string {
  return createHash('sha256')
    .update(JSON.stringify([...ids].sort()))
    .digest('hex');
}

/** Facts that matching policies need in addition to the request, the oldest policy first. */
export interface FactQueries {
  readonly uses: readonly RequestedUse[];
  readonly facts: readonly FactQuery[];
}

const NO_QUERIES: FactQueries = { uses: [], facts: [] };

const NONE: ReadonlySet<string> = new Set();

/** A set of policies that cannot be changed. */
export type PolicySet = Omit<PolicyEvaluator, 'put'>;

/** Decides by the policies in force, which are filed by resource and action, in order of precedence. */
export class PolicyEvaluator {
  private readonly policies = new Map<string, CompiledPolicy>();
  private readonly index = new PolicyIndex();
  /** The few policies that depend on more than the request: the facts they need are gathered before an evaluation. */
  private readonly factIndex = new PolicyIndex();
  /** The policies with a condition on a clock, or a limit in a zone. */
  private readonly clockIndex = new PolicyIndex();
  /** The policies with a condition on each item of a list. */
  private readonly listIndex = new PolicyIndex();
  private changes = 0;
  private knownSet: string | null = null;

  /** @param keyOf turns the `actionHash` of a request into the key of its sums */
  constructor(private readonly keyOf: (actionHash: string) => string = (hash) => hash) {}

  /**
   * Builds an evaluator for policies that need not be in force. Many are prepared in several turns of the event loop.
   */
  static async build(policies: readonly PolicyRules[]): Promise<PolicyEvaluator> {
    const compiled: CompiledPolicy[] = [];
    for await (const policy of yieldBetween(policies)) compiled.push(compilePolicy(policy));
    const evaluator = new PolicyEvaluator();
    evaluator.put(compiled, []);
    return evaluator;
  }

  /** Number that changes whenever another set is in force. */
  get version(): number {
    return this.changes;
  }

  /** The set of policies in force, by {@link policySetOf}. */
  get policySet(): string {
    this.knownSet ??= policySetOf(this.policies.keys());
    return this.knownSet;
  }

  /** Returns the future `policySet` after some policies have come into force and others have been removed. */
  policySetWith(added: readonly string[], removed: readonly string[]): string {
    const ids = new Set(this.policies.keys());
    for (const id of removed) ids.delete(id);
    for (const id of added) ids.add(id);
    return policySetOf(ids);
  }

  /** Puts policies in force and removes others, at once; those already in force stay as they are. */
  put(added: readonly CompiledPolicy[], removed: readonly string[]): void {
    for (const id of removed) {
      const policy = this.policies.get(id);
      if (policy === undefined) continue;
      this.policies.delete(id);
      this.index.remove(policy);
      if (needsFacts(policy)) this.factIndex.remove(policy);
      if (hasZone(policy)) this.clockIndex.remove(policy);
      if (hasItemCount(policy)) this.listIndex.remove(policy);
    }
    const fresh = added.filter(({ reference }) => !this.policies.has(reference.id));
    for (const policy of fresh) this.policies.set(policy.reference.id, policy);
    this.index.add(fresh);
    this.factIndex.add(fresh.filter(needsFacts));
    this.clockIndex.add(fresh.filter(hasZone));
    this.listIndex.add(fresh.filter(hasItemCount));
    this.changes += 1;
    this.knownSet = null;
  }

  /** Returns the policies in force now, as a set that never changes. */
  copy(): PolicySet {
    const copy = new PolicyEvaluator(this.keyOf);
    copy.put([...this.policies.values()], []);
    return copy;
  }

  /** True if no policy needs facts in addition to any request. */
  get needsNoFacts(): boolean {
    return this.factIndex.isEmpty;
  }

  /** True if no policy has a condition on each item of a list. */
  get needsNoComparisons(): boolean {
    return this.listIndex.isEmpty;
  }

  /**
   * Counts the list items that conditions compare, for the policies whose other parts match the request. @param
   * isExplained true to include policies that fail in one other part, which {@link explain} evaluates
   */
  comparisons(request: EvaluationRequest, isExplained = false): number {
    if (this.needsNoComparisons || request.isReview === true) return 0;
    const context = this.contextFor(request, null);
    const policies = isExplained
      ? policiesToExplain(this.policies, this.index, context)
      : this.listIndex.offered(context, (policy, _, use) => isAbout(policy, context) && usesPath(policy, use));
    return policies.reduce((sum, policy) => sum + itemsComparedBy(policy, request), 0);
  }

  /** Returns the facts that {@link evaluate} needs in addition to the request; usually none. */
  factQueries(request: EvaluationRequest): FactQueries {
    if (this.needsNoFacts) return NO_QUERIES;
    const policies = this.factIndex.offered(this.contextFor(request, null), matchesBesidesPath).sort(compareByAge);
    if (policies.length === 0) return NO_QUERIES;
    const windows = windowsAt(request.at);
    const { subject, parameters, actionHash } = request;
    const counted = {
      subject,
      parameters,
      requestKey: () => (actionHash === undefined ? '' : this.keyOf(actionHash())),
    };
    return {
      uses: policies.flatMap(({ reference, limits }) => askedUses(reference, limits, counted, windows)),
      facts: withSharedActions(policies.flatMap((policy) => factsOf(policy, request))),
    };
  }

  /**
   * @param facts facts that the policies need; without them no limit counts as reached, and no other fact is known
   * @param asks result of {@link factQueries} for the request, if at hand
   */
  evaluate(request: EvaluationRequest, facts?: Facts, asks?: FactQueries): Evaluation {
    const context = this.contextFor(request, facts);
    if (facts === undefined || this.needsNoFacts) return this.withZones(verdictOn(context, this.index), context);
    const queries = asks ?? this.factQueries(request);
    const uses = this.usesNow(queries, context, facts);
    const reached = reachedBy(uses);
    const evaluation = verdictOn({ ...context, limitedPolicyIds: reached }, this.index);
    const rank = this.rankOfFirst(evaluation);
    const counts = (id: string): boolean => priorityOf(this.rankOf(id)) >= priorityOf(rank);
    const used = uses.filter(({ policy: { id } }) => this.rankOf(id) === rank && !reached.has(id));
    const limited = uses.filter((use) => counts(use.policy.id) && !fits(use));
    const consultedFacts = queries.facts.filter(({ policyId }) => counts(policyId));
    return {
      ...this.withZones(evaluation, context),
      ...(used.length > 0 && { limitUses: used }),
      ...(limited.length > 0 && { reachedLimits: limited }),
      ...(consultedFacts.length > 0 && { consultedFacts }),
    };
  }

  /** Yields between the steps; the policies must not change until it is done. */
  *explain(request: EvaluationRequest, facts?: Facts): Generator<null, Explanation> {
    const context = this.contextFor(request, facts);
    const limits = facts === undefined ? [] : this.usesNow(this.factQueries(request), context, facts);
    yield null;
    const limitedPolicyIds = reachedBy(limits);
    const explanation = yield* explanationSteps(this.policies, this.index, { ...context, limitedPolicyIds });
    return { ...explanation, limits };
  }

  /** Returns the best effect that a request could have, with conditions met or not. */
  bestEffect(request: EvaluationRequest, fallback: PolicyEffect): PolicyEffect {
    return bestEffectFor(this.index, this.contextFor(request), fallback);
  }

  /**
   * For a request on which no policy decides, returns the oldest policies that would allow it with other parameters or
   * facts.
   */
  allowingOtherwise(request: EvaluationRequest): NearAllows {
    return allowingOtherwise(this.index, this.contextFor(request));
  }

  /** Returns the requested uses of limits, of policies whose conditions hold, with the sums used before. */
  private usesNow({ uses }: FactQueries, context: EvaluationContext, { sums }: Facts): LimitUse[] {
    if (sums === undefined) return [];
    return uses.flatMap((use) => {
      const policy = this.policies.get(use.policy.id);
      if (policy === undefined || !matchesConditions(policy, context)) return [];
      return { ...use, before: sums.get(sumName(use.sum)) ?? ZERO };
    });
  }

  /** Adds the version of the time zones if a clock counted. */
  private withZones(evaluation: Evaluation, context: EvaluationContext): Evaluation {
    if (this.clockIndex.isEmpty || context.request.isReview === true) return evaluation;
    const least = priorityOf(this.rankOfFirst(evaluation));
    const counts = this.clockIndex
      .offered(context, (policy, request, use) => isAbout(policy, request) && usesPath(policy, use))
      .some(({ rank }) => priorityOf(rank) >= least);
    return counts ? { ...evaluation, zones: ZONES_VERSION } : evaluation;
  }

  private rankOfFirst({ policies: [first] }: Evaluation): number {
    return first === undefined ? -Infinity : this.rankOf(first.id);
  }

  private rankOf(id: string): number {
    return this.policies.get(id)?.rank ?? -Infinity;
  }

  private contextFor(request: EvaluationRequest, facts: ConditionFacts | null = NO_FACTS): EvaluationContext {
    const { subject, principal = null, isReview = false } = request;
    return {
      request,
      subjects: new Set(textsOf(subject)),
      team: teamOf(subject),
      principals: principal === null ? null : new Set(['*', ...textsOf(principal)]),
      facts,
      usesLimits: !isReview && 'agentId' in subject && subject.agentId !== '',
      limitedPolicyIds: NONE,
    };
  }
}

function needsFacts({ limits, conditions }: CompiledPolicy): boolean {
  return limits.length > 0 || conditions.some(({ question }) => question !== undefined);
}

function hasItemCount({ conditions }: CompiledPolicy): boolean {
  return conditions.some(({ itemCount }) => itemCount !== undefined);
}

function itemsComparedBy({ conditions }: CompiledPolicy, request: EvaluationRequest): number {
  return conditions.reduce((sum, { itemCount }) => sum + (itemCount?.(request) ?? 0), 0);
}

function hasZone({ conditions, limits }: CompiledPolicy): boolean {
  return conditions.some((condition) => condition.hasZone === true) || limits.some(({ zone }) => zone !== undefined);
}

function factsOf({ reference, conditions }: CompiledPolicy, request: EvaluationRequest): FactQuery[] {
  return conditions.flatMap(({ question }, index) => {
    const factKey = question?.(request) ?? null;
    return factKey === null ? [] : { policyId: reference.id, condition: index, ...factKey };
  });
}

/** Returns the ids of the policies that a limit keeps from matching. */
function reachedBy(uses: readonly LimitUse[]): ReadonlySet<string> {
  return new Set(uses.flatMap((use) => (fits(use) ? [] : use.policy.id)));
}
