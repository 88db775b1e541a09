import { Injectable } from '@nestjs/common';
import { PastRecords } from '../ledger/reading/past-records';
import { Slices } from '../shared/slices';
import { PolicyEvaluator, type PolicySnapshot } from './evaluation/policy-evaluator';
import { POLICY } from './policy.kind';

/** The policies that were in force earlier. */
@Injectable()
export class PastPolicies {
  constructor(private readonly past: PastRecords) {}

  /** After the entry with the sequence. */
  async inForceAfter(sequence: number): Promise<PolicySnapshot> {
    const evaluator = new PolicyEvaluator();
    const slices = new Slices();
    for await (const policies of this.past.chunks(POLICY, sequence)) {
      evaluator.addAll(policies.filter(({ status }) => status === 'active'));
      await slices.next();
    }
    return evaluator.snapshot();
  }
}
