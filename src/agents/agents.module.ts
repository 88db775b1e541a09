import { Module } from '@nestjs/common';
import { LedgerModule } from '../ledger/ledger.module';
import { AgentListFilters1763700000010 } from './agent-list-filters.migration';
import { AgentsSchema1763600000010 } from './agents-schema.migration';
import { AGENT } from './agent.kind';
import { AgentsController } from './agents.controller';
import { AgentsService } from './agents.service';
import { DeadLabels } from './dead-labels';

@Module({
  imports: [
    LedgerModule.forFeature({ kinds: [AGENT], migrations: [AgentsSchema1763600000010, AgentListFilters1763700000010] }),
  ],
  controllers: [AgentsController],
  providers: [AgentsService, DeadLabels],
})
export class AgentsModule {}
