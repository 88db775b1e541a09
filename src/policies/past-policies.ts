import { Injectable } from '@nestjs/common';
import { PastRecords } from '../ledger/reading/past-records';
import { BoundedQueue } from '../shared/bounded-queue';
import { Slices } from '../shared/slices';
import { PolicyEvaluator, type PolicySnapshot } from './evaluation/policy-evaluator';
import { POLICY } from './policy.kind';

/** Most uses that wait for their turn, and the milliseconds for which one may. */
const WAITING = { mostWaiting: 20, longestWait: 10_000 };

/** The policies that were in force earlier. */
@Injectable()
export class PastPolicies {
  private readonly uses = new BoundedQueue('Another question about an earlier time', WAITING);

  constructor(private readonly past: PastRecords) {}

  /**
   * Lets the work use the policies that were in force after the entry with the sequence. One set at a time: each takes as
   * much memory as the policies now in force.
   * @param leaving aborted when nobody waits for the result any more.
   * @throws UNAVAILABLE when too many uses wait, or this one has waited too long; the reason of `leaving`.
   */
  inForceAfter<Result>(
    sequence: number,
    work: (policies: PolicySnapshot) => Promise<Result>,
    leaving: AbortSignal,
  ): Promise<Result> {
    return this.uses.run(async () => work(await this.read(sequence, leaving)), leaving);
  }

  private async read(sequence: number, leaving: AbortSignal): Promise<PolicySnapshot> {
    const evaluator = new PolicyEvaluator();
    const slices = new Slices();
    for await (const policies of this.past.chunks(POLICY, sequence)) {
      leaving.throwIfAborted();
      evaluator.addAll(policies.filter(({ status }) => status === 'active'));
      await slices.next();
    }
    return evaluator.snapshot();
  }
}
