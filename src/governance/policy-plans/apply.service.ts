import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalid, preconditionFailed } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { Gates, nameOf } from '../../http/gates';
import { ActivePolicies } from '../policies/active-policies';
import type { ApplyPoliciesRequest } from './dto/policy-plan.requests';
import { type AppliedPoliciesResponse, PolicyChangeResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import {
  type PolicyChange,
  type WantedPolicies,
  contentOf,
  goingOutOfForce,
  notInForce,
  policyChanges,
} from '../policies/policy-content';
import { POLICY, type Policy } from '../policies/policy.entity';

/** Brings a set of policies into force in one commit. */
@Injectable()
export class ApplyService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly activePolicies: ActivePolicies,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * @throws PRECONDITION_FAILED when other policies are in force than those planned for; VALIDATION_ERROR when a
   * version exists with other content; CONFLICT when the set is larger than the limits; UNAVAILABLE when too many
   * others are being applied.
   */
  async apply(caller: Caller, request: ApplyPoliciesRequest, leaving: AbortSignal): Promise<AppliedPoliciesResponse> {
    const { base, prune = false } = request;
    const policies = request.policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    // What takes many reads is done outside the ledger's commands.
    const warnings = await this.warnings.of(policies);
    /** @param read the policies of the base; null if they have to be read in the command. */
    const write = (read: readonly Policy[] | null): Promise<AppliedPoliciesResponse> =>
      this.ledger.write(caller, async (transaction) => {
        if (!this.isInForce(base)) throw anotherBase();
        const inForce = read ?? (await transaction.findAll(POLICY, { status: 'active' }));
        const changes = await changesFor(transaction, { policies, prune }, inForce);
        const { ids, policySet } = await this.activePolicies.carryOut(transaction, changes, warnings);
        return { changes: changes.map((change, index) => PolicyChangeResponse.from(change, ids[index])), policySet };
      });
    await this.activePolicies.catchUp();
    // The command refuses another base, or repeats its answer to the same Idempotency-Key: neither needs the policies.
    if (!this.isInForce(base)) return write(null);
    // Entered before the policies in force are read: many at once would read and hold a lot.
    const applied = async (): Promise<AppliedPoliciesResponse> => {
      // The content of a policy never changes.
      const read = this.isInForce(base) ? await this.activePolicies.read() : null;
      return write(read?.policySet === base ? read.policies : null);
    };
    return this.gates.of('applications').run(nameOf(caller), applied, { leaving });
  }

  private isInForce(base: string): boolean {
    return this.activePolicies.inForce.policySet === base;
  }
}

/** Also reads in the transaction what it will change. */
async function changesFor(
  transaction: LedgerTransaction,
  wanted: WantedPolicies,
  inForce: readonly Policy[],
): Promise<readonly PolicyChange[]> {
  const others = await transaction.findAmong(POLICY, ['name', 'version'], notInForce(wanted.policies, inForce));
  const { changes, faults } = await policyChanges(wanted, inForce, others);
  if (faults.length > 0) throw invalid(faults);
  const going = goingOutOfForce(changes).map(({ id }) => [id]);
  await transaction.findAmong(POLICY, ['id'], going);
  return changes;
}

function anotherBase(): Error {
  return preconditionFailed(
    'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
  );
}
