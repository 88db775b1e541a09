import { Injectable } from '@nestjs/common';
import { PastRecords } from '../../ledger/reading/past-records';
import { Gates, nameOf } from '../../http/gates';
import type { Caller } from '../../ledger/caller';
import { PolicyEvaluator, type PolicySet } from './evaluation/policy-evaluator';
import { type Policy, POLICY } from './policy.entity';

/** The policies that were in force earlier. */
@Injectable()
export class PastPolicies {
  constructor(
    private readonly past: PastRecords,
    private readonly gates: Gates,
  ) {}

  /**
   * Lets the work use the policies that were in force after the entry with the sequence. One set at a time: each takes as
   * much memory as the policies now in force.
   * @param leaving aborted when nobody waits for the result any more.
   * @throws UNAVAILABLE when too many uses wait, or this one has waited too long; the reason of `leaving`.
   */
  inForceAfter<Result>(
    caller: Caller,
    sequence: number,
    work: (policies: PolicySet) => Promise<Result>,
    leaving: AbortSignal,
  ): Promise<Result> {
    const answered = async (): Promise<Result> => work(await this.read(sequence, leaving));
    return this.gates.of('pastQuestions').run(nameOf(caller), answered, { leaving });
  }

  private async read(sequence: number, leaving: AbortSignal): Promise<PolicySet> {
    const inForce: Policy[] = [];
    for await (const policies of this.past.chunks(POLICY, sequence)) {
      leaving.throwIfAborted();
      inForce.push(...policies.filter(({ status }) => status === 'active'));
    }
    return PolicyEvaluator.of(inForce);
  }
}
