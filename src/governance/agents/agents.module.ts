import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { AgentListFilters1763700000010 } from './agent-list-filters.migration';
import { AgentsSchema1763600000010 } from './agents-schema.migration';
import { AGENT } from './agent.entity';
import { AgentsController } from './agents.controller';
import { AgentsService } from './agents.service';
import { DeadLabels } from './dead-labels';
import { SuspendedAgents, WatchedAgents } from './suspended-agents';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [AGENT],
      migrations: [AgentsSchema1763600000010, AgentListFilters1763700000010],
    }),
  ],
  controllers: [AgentsController],
  providers: [AgentsService, DeadLabels, SuspendedAgents, WatchedAgents],
  exports: [SuspendedAgents, WatchedAgents],
})
export class AgentsModule {}
