import { Module } from '@nestjs/common';
import { ConfigurationModule } from '../core/config/configuration.module';
import { LedgerModule } from '../ledger/ledger.module';
import { ApiTag } from '../http/openapi/documentation.decorators';
import { CloseIncident } from './close-incident';
import { INCIDENT } from './incident.kind';
import { INCIDENT_VARIABLES, IncidentSettings } from './incident-settings';
import { IncidentsController } from './incidents.controller';
import { IncidentsSchema1767225600000 } from './incidents-schema.migration';
import { IncidentsService } from './incidents.service';
import { OpenIncidents } from './open-incidents';

@Module({
  imports: [
    LedgerModule.forFeature({ kinds: [INCIDENT], migrations: [IncidentsSchema1767225600000] }),
    ConfigurationModule.forFeature(IncidentSettings, INCIDENT_VARIABLES),
  ],
  controllers: [IncidentsController],
  providers: [
    IncidentsService,
    CloseIncident,
    OpenIncidents,
    { provide: ApiTag, useValue: new ApiTag('Incidents', 'What went wrong, and whether it is dealt with.') },
  ],
})
export class IncidentsModule {}
