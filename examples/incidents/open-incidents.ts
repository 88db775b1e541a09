import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ActionGuard, type GuardedAction } from '../governance/permissions/action-guards';
import { LedgerService } from '../ledger/ledger.service';
import { INCIDENT } from './incident.kind';

/** The open major incidents, in the memory of every replica. */
@Injectable()
export class OpenIncidents implements OnModuleInit {
  private readonly references = new Map<string, string>();

  constructor(private readonly ledger: LedgerService) {}

  onModuleInit(): Promise<void> {
    return this.ledger.keepInMemory({
      kind: INCIDENT,
      actions: ['incident.reported', 'incident.closed'],
      keep: (incidents) => {
        for (const { id, reference, severity, closedAt } of incidents)
          if (severity === 'major' && closedAt === null) this.references.set(id, reference);
          else this.references.delete(id);
      },
    });
  }

  @ActionGuard('open-incidents')
  refusal({ action }: GuardedAction): string | null {
    const [reference] = this.references.values();
    if (action !== 'deploy' || reference === undefined) return null;
    return `The incident ${reference} is open. Nothing is deployed until it is closed.`;
  }
}
