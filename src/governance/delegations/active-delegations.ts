import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LedgerService } from '../../ledger/ledger.service';
import { RowProjection } from '../../ledger/head/projections';
import { DELEGATION, type Delegation, DELEGATION_ACTIONS } from './delegation.entity';

type DelegationGroups = ReadonlyMap<string, readonly Delegation[]>;

/**
 * Active delegations in memory, because lists of approvers and mails need them often. Reviews read the record itself.
 */
@Injectable()
export class ActiveDelegations implements OnModuleInit {
  private readonly active = new Map<string, Delegation>();
  /** Active delegations by the person who made them, and by the person who received them; null after a change. */
  private groups: Readonly<Record<'agentId' | 'to', DelegationGroups>> | null = null;
  /** Follows changes by other processes; must catch up before a question is answered. */
  readonly memory = new RowProjection<Delegation>({
    kind: DELEGATION,
    status: 'active',
    actions: DELEGATION_ACTIONS,
    keep: (delegations) => delegations.forEach((delegation) => this.keep(delegation)),
  });

  constructor(private readonly ledger: LedgerService) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.memory);
  }

  /** Resolves when the changes that other processes made before the call are known. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.memory);
  }

  listMadeBy(agentId: string): readonly Delegation[] {
    return this.grouped.agentId.get(agentId) ?? [];
  }

  listReceivedBy(agentId: string): readonly Delegation[] {
    return this.grouped.to.get(agentId) ?? [];
  }

  private get grouped(): Readonly<Record<'agentId' | 'to', DelegationGroups>> {
    this.groups ??= { agentId: this.groupsBy('agentId'), to: this.groupsBy('to') };
    return this.groups;
  }

  private groupsBy(member: 'agentId' | 'to'): DelegationGroups {
    const groups = new Map<string, Delegation[]>();
    for (const delegation of this.active.values()) {
      const group = groups.get(delegation[member]) ?? [];
      groups.set(delegation[member], group);
      group.push(delegation);
    }
    return groups;
  }

  private keep(delegation: Delegation): void {
    this.groups = null;
    if (delegation.status === 'active') this.active.set(delegation.id, delegation);
    else this.active.delete(delegation.id);
  }
}
