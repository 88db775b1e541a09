import { Injectable } from '@nestjs/common';
import { ENTITY } from '../governance/entities/governed-entity.entity';
import { conflict, invalidField, notFound } from '../core/errors/domain-error';
import type { Caller } from '../ledger/kinds/caller';
import { LedgerService } from '../ledger/ledger.service';
import type { Page, PageRequest } from '../ledger/kinds/record-page';
import { RecordReader } from '../ledger/reading/record-reader';
import type { ReportIncidentRequest } from './dto/report-incident.request';
import { incidentClosed } from './incident-closed';
import type { Incident } from './incident.entity';
import { INCIDENT } from './incident.kind';
import { IncidentSettings } from './incident-settings';

@Injectable()
export class IncidentsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly settings: IncidentSettings,
  ) {}

  list(request: PageRequest): Promise<Page<Incident>> {
    return this.reader.page(INCIDENT, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<Incident> {
    const incident = await this.reader.find(INCIDENT, id);
    if (incident === undefined) throw notFound('incident');
    return incident;
  }

  /** @throws VALIDATION_ERROR when it names no entity, or too many records; CONFLICT when the reference is taken. */
  report(caller: Caller, request: ReportIncidentRequest): Promise<Incident> {
    const { reference, title, severity, labels = [], affected = 0, entityId = null } = request;
    const { mostAffected } = this.settings;
    if (affected > mostAffected) throw invalidField('affected', `must be at most ${mostAffected}`);
    return this.ledger.write(caller, async (transaction) => {
      if (entityId !== null && !(await transaction.exists(ENTITY, entityId)))
        throw invalidField('entityId', 'must be the id of an existing entity');
      if ((await transaction.findBy(INCIDENT, { reference })) !== undefined)
        throw conflict(`An incident with the reference ${reference} exists already.`);
      const id = transaction.newId(INCIDENT);
      const createdAt = transaction.now;
      const incident = { id, reference, title, severity, labels, affected, entityId, createdAt, closedAt: null };
      return transaction.insert(INCIDENT, incident, { action: 'incident.reported', entityId, details: { severity } });
    });
  }

  /** @throws NOT_FOUND; INCIDENT_CLOSED */
  close(caller: Caller, id: string, agentId: string | null): Promise<Incident> {
    return this.ledger.write(caller, async (transaction) => {
      const incident = await transaction.find(INCIDENT, id);
      if (incident === undefined) throw notFound('incident');
      if (incident.closedAt !== null) throw incidentClosed(incident.reference);
      const closed = { ...incident, closedAt: transaction.now };
      return transaction.update(INCIDENT, closed, { action: 'incident.closed', agentId });
    });
  }
}
