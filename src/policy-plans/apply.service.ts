import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { preconditionFailed } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { Slices } from '../shared/slices';
import { ActivePolicies } from '../policies/active-policies';
import type { ApplyPoliciesRequest } from './dto/plan-policies.request';
import { PolicyChangeResponse } from './dto/policy-plan.response';
import type { AppliedPoliciesResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import { contentOf } from '../policies/policy-content';
import type { PolicyContent } from '../policies/policy-content';
import { noteOn } from '../policies/policy-notes';
import type { Policy } from '../policies/policy.entity';
import { POLICY } from '../policies/policy.kind';
import { policySetOf } from '../policies/evaluation/policy-set-hash';
import { CurrentPolicies } from './current-policies';
import { byVersion, comingIntoForce, goingOutOfForce, notInForce, policyChanges } from './policy-changes';
import type { PolicyChange, WantedPolicies } from './policy-changes';

/** A change, and the id of the policy that it puts in force, creates or removes. */
interface IdentifiedChange {
  readonly change: PolicyChange;
  readonly id: string;
}

const AFTER = {
  activate: { status: 'active', action: 'policy.activated' },
  deactivate: { status: 'inactive', action: 'policy.deactivated' },
} as const;

/** Brings a set of policies into force in one commit. */
@Injectable()
export class ApplyService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly activePolicies: ActivePolicies,
    private readonly current: CurrentPolicies,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @throws PRECONDITION_FAILED when other policies are in force than those planned for; VALIDATION_ERROR when a
   * version exists with other content; CONFLICT when there is no room for the set.
   */
  async apply(
    caller: Caller,
    { base, policies, prune = false }: ApplyPoliciesRequest,
  ): Promise<AppliedPoliciesResponse> {
    const wanted = policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    // What takes many reads is done outside the ledger's commands. The content of a policy never changes.
    const warnings = await this.warnings.ofAll(wanted);
    const read = await this.current.inForce();
    const readSet = policySetOf(read.map(({ id }) => id));
    return this.ledger.write(caller, async (transaction) => {
      if (this.activePolicies.policySet !== base) throw anotherBase();
      const inForce = readSet === base ? read : await transaction.findAll(POLICY, { status: 'active' });
      const slices = Slices.ofWrite();
      const changes = await changesFor(transaction, { policies: wanted, prune }, inForce, slices);
      await this.activePolicies.requireRoomForAll(comingIntoForce(changes), goingOutOfForce(changes), slices);
      const identified = await identifiedChanges(transaction, changes);
      const policySet = this.setAfter(identified);
      const changed = await this.carryOut(transaction, identified, { policySet, warnings });
      if (changed.length > 0) this.activePolicies.follow(transaction, changed);
      return { changes: identified.map(({ change, id }) => PolicyChangeResponse.from(change, id)), policySet };
    });
  }

  private setAfter(changes: readonly IdentifiedChange[]): string {
    const going = changes.flatMap(({ change: { change, replaced }, id }) =>
      change === 'deactivate' ? id : (replaced?.id ?? []),
    );
    const staying = changes.flatMap(({ change: { change }, id }) => (change === 'deactivate' ? [] : id));
    return this.activePolicies.policySetWith(staying, going);
  }

  /** The policies after the changes. */
  private async carryOut(
    transaction: LedgerTransaction,
    changes: readonly IdentifiedChange[],
    { policySet, warnings }: { readonly policySet: string; readonly warnings: ReadonlyMap<PolicyContent, string[]> },
  ): Promise<Policy[]> {
    const slices = Slices.ofWrite();
    const changed: Policy[] = [];
    for (const { change, id } of changes) {
      await slices.next();
      const { replaced } = change;
      if (replaced !== null) {
        const note = noteOn(replaced, 'policy.superseded', { supersededBy: id, policySet });
        changed.push(transaction.update(POLICY, { ...replaced, status: 'superseded' }, note));
      }
      if (change.change === 'create') {
        const made = { warnings: warnings.get(change.policy) ?? [], createdAt: transaction.now };
        const created = { ...change.policy, id, status: 'active', ...made } as const;
        changed.push(transaction.insert(POLICY, created, noteOn(created, 'policy.created', { policySet })));
      } else if (change.change !== 'keep') {
        const { status, action } = AFTER[change.change];
        const note = noteOn(change.policy, action, { policySet });
        changed.push(transaction.update(POLICY, { ...change.policy, status }, note));
      }
    }
    return changed;
  }
}

/** Also reads in the transaction what it will change. */
async function changesFor(
  transaction: LedgerTransaction,
  wanted: WantedPolicies,
  inForce: readonly Policy[],
  slices: Slices,
): Promise<PolicyChange[]> {
  const others = await transaction.findAmong(POLICY, ['name', 'version'], notInForce(wanted.policies, inForce));
  const changes = await policyChanges(wanted, { inForce, outOfForce: byVersion(others) }, slices);
  const going = goingOutOfForce(changes).map(({ id }) => [id]);
  await transaction.findAmong(POLICY, ['id'], going);
  return changes;
}

/** In chunks. */
async function identifiedChanges(
  transaction: LedgerTransaction,
  changes: readonly PolicyChange[],
): Promise<IdentifiedChange[]> {
  const slices = Slices.ofWrite();
  const identified: IdentifiedChange[] = [];
  for (const change of changes) {
    if (slices.areDue) await slices.next();
    identified.push({ change, id: idOf(transaction, change) });
  }
  return identified;
}

function idOf(transaction: LedgerTransaction, change: PolicyChange): string {
  return change.change === 'create' ? transaction.newId(POLICY) : change.policy.id;
}

function anotherBase(): Error {
  return preconditionFailed(
    'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
  );
}
