import { Injectable } from '@nestjs/common';
import { unavailable } from '../errors/domain-error';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Condition } from '../ledger/record-page';
import { ActivePolicies } from '../policies/active-policies';
import { policySetOf } from '../policies/evaluation/policy-set-hash';
import type { PolicyContent } from '../policies/policy-content';
import type { Policy } from '../policies/policy.entity';
import { POLICY } from '../policies/policy.kind';
import { byVersion, notInForce } from './policy-changes';
import type { KnownPolicies } from './policy-changes';

/** Most policies read at once; fewer if they are large. */
const CHUNK = 1_000;
const IN_FORCE: readonly Condition[] = [{ column: 'status', comparison: 'equals', value: 'active' }];
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
      const { policySet } = this.activePolicies;
      const inForce = await this.readOnce();
      if (policySetOf(inForce.map(({ id }) => id)) === policySet) return { inForce, policySet };
    }
    throw unavailable('The policies in force change too quickly to be read.');
  }

  /** All policies in force, in several reads: what changes in between may be missing or no longer in force. */
  async readOnce(): Promise<Policy[]> {
    const policies: Policy[] = [];
    for await (const chunk of this.records.chunks(POLICY, IN_FORCE, CHUNK)) policies.push(...chunk);
    return policies;
  }

  /** The existing policies that a plan has to know, and the hash of those in force. */
  async knownFor(wanted: readonly PolicyContent[]): Promise<KnownPolicies & { readonly policySet: string }> {
    const { inForce, policySet } = await this.inForce();
    const others = await this.records.allAmong(POLICY, ['name', 'version'], notInForce(wanted, inForce));
    return { inForce, outOfForce: byVersion(others), policySet };
  }
}
