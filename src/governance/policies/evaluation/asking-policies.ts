import { ZERO } from '../../../core/values/decimal';
import { sumName } from '../../../ledger/records/sum-key';
import { askedUses, type AskedUse, fits, type LimitUse } from '../limits/limit';
import { type CompiledPolicy, matchesBesidesPath, priorityOf } from './compiled-policy';
import type { AskedFact, Evaluation, EvaluationRequest, Facts } from './evaluation';
import type { AskedNames } from './names';
import { ResourceIndex } from './resource-index';

/** A policy that matches but for what it asks besides the request, and what that is. */
interface AskingMatch {
  readonly policy: CompiledPolicy;
  readonly uses: readonly LimitUse[];
}

/** What has to be known besides the request. */
export interface Asks {
  readonly uses: readonly AskedUse[];
  readonly facts: readonly AskedFact[];
}

export const NOTHING_ASKED: Asks = { uses: [], facts: [] };

/** The policies in force that ask more than the request, which are few: it is gathered before an evaluation. */
export class AskingPolicies {
  private readonly resources = new ResourceIndex();
  private size = 0;

  constructor(policies: Iterable<CompiledPolicy> = []) {
    for (const policy of policies) this.add(policy);
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  add(policy: CompiledPolicy): void {
    if (policy.limits === null && policy.asking === null) return;
    this.resources.add(policy);
    this.size += 1;
  }

  remove(policy: CompiledPolicy): void {
    if (policy.limits === null && policy.asking === null) return;
    this.resources.remove(policy);
    this.size -= 1;
  }

  /** What those policies ask that match otherwise. */
  asks(request: EvaluationRequest, names: AskedNames): Asks {
    const policies = this.matching(request, { ...names, facts: null });
    return {
      uses: policies.flatMap((policy) => usesOf(policy, request)),
      facts: policies.flatMap((policy) => factsOf(policy, request)),
    };
  }

  /** Policies that match but for their limits, and what these are asked for; the oldest policy first. */
  uses(request: EvaluationRequest, names: AskedNames, { sums }: Facts): AskingMatch[] {
    if (sums === undefined) return [];
    return this.matching(request, names).flatMap((policy) =>
      policy.limits === null
        ? []
        : {
            policy,
            uses: usesOf(policy, request).map((use) => ({ ...use, before: sums.get(sumName(use.sum)) ?? ZERO })),
          },
    );
  }

  /** What conditions ask of policies that match otherwise and are not below the rank of those that decided. */
  looked(request: EvaluationRequest, names: AskedNames, rank: number): AskedFact[] {
    return this.matching(request, { ...names, facts: null })
      .filter((policy) => priorityOf(policy.rank) >= priorityOf(rank))
      .flatMap((policy) => factsOf(policy, request));
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
export function reachedAmong(matches: readonly AskingMatch[]): ReadonlySet<string> {
  return new Set(matches.flatMap((match) => (isReached(match) ? match.policy.reference.id : [])));
}

/** @param rank of the policies that decided; below all ranks if there are none. */
export function withUses(evaluation: Evaluation, rank: number, matches: readonly AskingMatch[]): Evaluation {
  const used = matches.flatMap((match) => (!isReached(match) && match.policy.rank === rank ? match.uses : []));
  const limited = matches
    .filter((match) => isReached(match) && priorityOf(match.policy.rank) >= priorityOf(rank))
    .flatMap(({ uses }) => uses.filter((use) => !fits(use)));
  return { ...evaluation, ...(used.length > 0 && { used }), ...(limited.length > 0 && { limited }) };
}

function isReached({ uses }: AskingMatch): boolean {
  return !uses.every(fits);
}

function usesOf({ reference, limits }: CompiledPolicy, { subject, parameters, at }: EvaluationRequest): AskedUse[] {
  const agentId = 'agentId' in subject ? subject.agentId : '';
  return askedUses(reference, limits ?? [], { agentId, parameters, at });
}

function factsOf({ reference, asking }: CompiledPolicy, request: EvaluationRequest): AskedFact[] {
  return (asking ?? []).flatMap(({ index, question }) => {
    const asked = question(request);
    return asked === null ? [] : { policyId: reference.id, condition: index, ...asked };
  });
}
