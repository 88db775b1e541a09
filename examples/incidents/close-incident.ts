import { Injectable } from '@nestjs/common';
import { DomainError } from '../core/errors/domain-error';
import { ActionFailure, ActionHandler, type ActionContext } from '../governance/executions/handlers/action-handlers';
import { IncidentsService } from './incidents.service';

@Injectable()
export class CloseIncident {
  constructor(private readonly incidents: IncidentsService) {}

  /** The resource is the incident's id. */
  @ActionHandler('close-incident')
  async close({ caller, agentId, resourceId }: ActionContext): Promise<{ closedAt: string | null }> {
    try {
      const { closedAt } = await this.incidents.close(caller, resourceId, agentId);
      return { closedAt };
    } catch (error) {
      throw error instanceof DomainError ? new ActionFailure(error.message, error.code) : error;
    }
  }
}
