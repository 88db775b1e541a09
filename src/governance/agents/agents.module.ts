import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { AGENT } from './agent.entity';
import { AgentsController } from './agents.controller';
import { AgentsService } from './agents.service';
import { DeadLabels } from './dead-labels';
import { SuspendedAgents, WatchedAgents } from './suspended-agents';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [AGENT],
      migrations: [],
    }),
  ],
  controllers: [AgentsController],
  providers: [AgentsService, DeadLabels, SuspendedAgents, WatchedAgents],
  exports: [SuspendedAgents, WatchedAgents],
})
export class AgentsModule {}
