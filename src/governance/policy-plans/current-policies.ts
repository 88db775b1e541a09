import { Injectable } from '@nestjs/common';
import { unavailable } from '../../core/errors/domain-error';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ActivePolicies } from '../policies/active-policies';
import { policySetOf } from '../policies/evaluation/policy-evaluator';
import type { PolicyContent } from '../policies/policy-content';
import { type Policy, POLICY } from '../policies/policy.entity';
import { byVersion, type KnownPolicies, notInForce } from './policy-changes';

/** Most attempts to read all policies in force without a change in between. */
const MOST_READINGS = 5;

/** Reads policies outside the ledger's commands. */
@Injectable()
export class CurrentPolicies {
  constructor(
    private readonly records: RecordReader,
    private readonly activePolicies: ActivePolicies,
  ) {}

  /** All policies in force, as a consistent snapshot. @throws UNAVAILABLE when they keep changing. */
  private async inForce(): Promise<{ readonly inForce: Policy[]; readonly policySet: string }> {
    for (let reading = 0; reading < MOST_READINGS; reading += 1) {
      await this.activePolicies.catchUp();
      const { policySet } = this.activePolicies.inForce;
      const inForce = await this.activePolicies.read();
      if (policySetOf(inForce.map(({ id }) => id)) === policySet) return { inForce, policySet };
    }
    throw unavailable('The policies in force change too quickly to be read.');
  }

  /** The existing policies that a plan has to know, and the hash of those in force. */
  async knownFor(wanted: readonly PolicyContent[]): Promise<KnownPolicies & { readonly policySet: string }> {
    const { inForce, policySet } = await this.inForce();
    const others = await this.records.allAmong(POLICY, ['name', 'version'], notInForce(wanted, inForce));
    return { inForce, outOfForce: byVersion(others), policySet };
  }
}
