import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalid, preconditionFailed } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { Gates, nameOf } from '../../http/gates';
import { Turn } from '../../core/concurrency/turn';
import { ActivePolicies } from '../policies/active-policies';
import type { ApplyPoliciesRequest } from './dto/policy-plan.requests';
import { type AppliedPoliciesResponse, PolicyChangeResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import { contentOf, type PolicyContent } from '../policies/policy-content';
import { noteOn, POLICY, type Policy } from '../policies/policy.entity';
import { policySetOf } from '../policies/evaluation/policy-evaluator';
import {
  byVersion,
  comingIntoForce,
  goingOutOfForce,
  notInForce,
  type PolicyChange,
  policyChanges,
  type WantedPolicies,
} from './policy-changes';

/** A change, and the id of the policy that it puts in force, creates or removes. */
interface IdentifiedChange {
  readonly change: PolicyChange;
  readonly id: string;
}

/** What an application has to know before its command begins. */
interface Preparation {
  readonly wanted: readonly PolicyContent[];
  readonly warnings: ReadonlyMap<PolicyContent, string[]>;
  /** The policies of the base; null if they have to be read in the command. */
  readonly inForce: readonly Policy[] | null;
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
    private readonly gates: Gates,
  ) {}

  /**
   * @throws PRECONDITION_FAILED when other policies are in force than those planned for; VALIDATION_ERROR when a
   * version exists with other content; CONFLICT when the set is larger than the limits; UNAVAILABLE when too many
   * others are being applied.
   */
  async apply(caller: Caller, request: ApplyPoliciesRequest, leaving: AbortSignal): Promise<AppliedPoliciesResponse> {
    const wanted = request.policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    // What takes many reads is done outside the ledger's commands.
    const warnings = await this.warnings.ofAll(wanted);
    await this.activePolicies.catchUp();
    // The command refuses another base, or repeats its answer to the same Idempotency-Key: neither needs the policies.
    if (!this.isInForce(request.base)) return this.write(caller, request, { wanted, warnings, inForce: null });
    // Entered before the policies in force are read: many at once would read and hold a lot.
    return this.gates.of('applications').run(
      nameOf(caller),
      async () => {
        const inForce = await this.policiesOf(request.base);
        return this.write(caller, request, { wanted, warnings, inForce });
      },
      { leaving },
    );
  }

  /** The policies of a base that is in force; null if it no longer is, or they change. Their content never does. */
  private async policiesOf(base: string): Promise<readonly Policy[] | null> {
    if (!this.isInForce(base)) return null;
    const read = await this.activePolicies.read();
    return policySetOf(read.map(({ id }) => id)) === base ? read : null;
  }

  private isInForce(base: string): boolean {
    return this.activePolicies.inForce.policySet === base;
  }

  private write(
    caller: Caller,
    { base, prune = false }: ApplyPoliciesRequest,
    { wanted, warnings, inForce: read }: Preparation,
  ): Promise<AppliedPoliciesResponse> {
    return this.ledger.write(caller, async (transaction) => {
      if (!this.isInForce(base)) throw anotherBase();
      const inForce = read ?? (await transaction.findAll(POLICY, { status: 'active' }));
      const changes = await changesFor(transaction, { policies: wanted, prune }, inForce);
      this.activePolicies.requireRoom(comingIntoForce(changes), goingOutOfForce(changes));
      const identified = changes.map((change) => ({ change, id: idOf(transaction, change) }));
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
    return this.activePolicies.inForce.policySetWith(staying, going);
  }

  /** The policies after the changes. */
  private async carryOut(
    transaction: LedgerTransaction,
    changes: readonly IdentifiedChange[],
    { policySet, warnings }: { readonly policySet: string; readonly warnings: ReadonlyMap<PolicyContent, string[]> },
  ): Promise<Policy[]> {
    const turn = new Turn();
    const changed: Policy[] = [];
    for (const { change, id } of changes) {
      if (turn.isOver) await turn.next();
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
): Promise<readonly PolicyChange[]> {
  const others = await transaction.findAmong(POLICY, ['name', 'version'], notInForce(wanted.policies, inForce));
  const { changes, faults } = await policyChanges(wanted, { inForce, outOfForce: byVersion(others) });
  if (faults.length > 0) throw invalid(faults);
  const going = goingOutOfForce(changes).map(({ id }) => [id]);
  await transaction.findAmong(POLICY, ['id'], going);
  return changes;
}

function idOf(transaction: LedgerTransaction, change: PolicyChange): string {
  return change.change === 'create' ? transaction.newId(POLICY) : change.policy.id;
}

function anotherBase(): Error {
  return preconditionFailed(
    'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
  );
}
