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
import { comingIntoForce, goingOutOfForce, policyChanges, versionKey } from './policy-changes';
import type { KnownPolicies, PolicyChange, WantedPolicies } from './policy-changes';

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
    // Who could approve is looked up outside the ledger's commands: it takes many reads.
    const warnings = await this.warnings.ofAll(wanted);
    return this.ledger.write(caller, async (transaction) => {
      if (this.activePolicies.policySet !== base) throw anotherBase();
      const changes = await changesFor(transaction, { policies: wanted, prune });
      this.activePolicies.requireRoomForAll(comingIntoForce(changes), goingOutOfForce(changes));
      const identified = changes.map((change) => ({ change, id: idOf(transaction, change) }));
      const policySet = this.setAfter(identified);
      const changed = await this.carryOut(transaction, identified, { policySet, warnings });
      if (changed.length > 0) this.activePolicies.follow(transaction, ...changed);
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
    const slices = new Slices();
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

async function changesFor(transaction: LedgerTransaction, wanted: WantedPolicies): Promise<PolicyChange[]> {
  const inForce = await transaction.findAll(POLICY, { status: 'active' });
  return policyChanges(wanted, { inForce, outOfForce: await outOfForce(transaction, wanted, inForce) });
}

async function outOfForce(
  transaction: LedgerTransaction,
  { policies }: WantedPolicies,
  inForce: readonly Policy[],
): Promise<KnownPolicies['outOfForce']> {
  const known = new Set(inForce.map(versionKey));
  const found = new Map<string, Policy>();
  for (const { name, version } of policies.filter((policy) => !known.has(versionKey(policy)))) {
    const policy = await transaction.findBy(POLICY, { name, version });
    if (policy !== undefined) found.set(versionKey(policy), policy);
  }
  return found;
}

function idOf(transaction: LedgerTransaction, change: PolicyChange): string {
  return change.change === 'create' ? transaction.newId(POLICY) : change.policy.id;
}

function anotherBase(): Error {
  return preconditionFailed(
    'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
  );
}
