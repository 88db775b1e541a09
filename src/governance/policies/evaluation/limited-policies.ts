import { ZERO } from '../../../core/values/decimal';
import { sumName } from '../../../ledger/records/sum-key';
import { type AskedUse, askedUses, fits, type LimitUse } from '../limits/limit';
import { type CompiledPolicy, matchesBesidesPath, priorityOf } from './compiled-policy';
import type { Evaluation, EvaluationRequest, Facts } from './evaluation';
import type { AskedNames } from './names';
import { ResourceIndex } from './resource-index';

/** A policy with limits that matches otherwise, and what each of its limits is asked for. */
interface LimitedMatch {
  readonly policy: CompiledPolicy;
  readonly uses: readonly LimitUse[];
}

/** The policies with limits among those in force, which are few: what they ask is gathered before an evaluation. */
export class LimitedPolicies {
  private readonly resources = new ResourceIndex();
  private size = 0;

  constructor(policies: Iterable<CompiledPolicy> = []) {
    for (const policy of policies) this.add(policy);
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  add(policy: CompiledPolicy): void {
    if (policy.limits === null) return;
    this.resources.add(policy);
    this.size += 1;
  }

  remove(policy: CompiledPolicy): void {
    if (policy.limits === null) return;
    this.resources.remove(policy);
    this.size -= 1;
  }

  /** What the limits of those policies are asked for that match otherwise. */
  asked(request: EvaluationRequest, names: AskedNames): AskedUse[] {
    return this.matching(request, names).flatMap((policy) => usesOf(policy, request));
  }

  /** The same with what was used; the oldest policy first. */
  matches(request: EvaluationRequest, names: AskedNames, { sums }: Facts): LimitedMatch[] {
    return this.matching(request, names).map((policy) => ({
      policy,
      uses: usesOf(policy, request).map((use) => ({ ...use, before: sums.get(sumName(use.sum)) ?? ZERO })),
    }));
  }

  private matching(request: EvaluationRequest, names: AskedNames): CompiledPolicy[] {
    const found = new Set<CompiledPolicy>();
    this.resources.each(request, (policy, use) => {
      if (matchesBesidesPath(policy, names, use)) found.add(policy);
    });
    return [...found].sort((one, other) => (one.reference.id < other.reference.id ? -1 : 1));
  }
}

/** The ids of those that a limit keeps from matching. */
export function reachedAmong(matches: readonly LimitedMatch[]): ReadonlySet<string> {
  return new Set(matches.flatMap((match) => (isReached(match) ? match.policy.reference.id : [])));
}

/** @param rank of the policies that decided; below all ranks if there are none. */
export function withUses(evaluation: Evaluation, rank: number, matches: readonly LimitedMatch[]): Evaluation {
  const used = matches.flatMap((match) => (!isReached(match) && match.policy.rank === rank ? match.uses : []));
  const limited = matches
    .filter((match) => isReached(match) && priorityOf(match.policy.rank) >= priorityOf(rank))
    .flatMap(({ uses }) => uses.filter((use) => !fits(use)));
  return { ...evaluation, ...(used.length > 0 && { used }), ...(limited.length > 0 && { limited }) };
}

function isReached({ uses }: LimitedMatch): boolean {
  return !uses.every(fits);
}

function usesOf({ reference, limits }: CompiledPolicy, { subject, parameters, at }: EvaluationRequest): AskedUse[] {
  const agentId = 'agentId' in subject ? subject.agentId : '';
  return askedUses(reference, limits ?? [], { agentId, parameters, at });
}
