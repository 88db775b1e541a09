import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { AGENT } from './agent.entity';
import { AgentsController } from './agents.controller';
import { AgentsService } from './agents.service';
import { SuspendedAgents, WatchedAgents } from './suspended-agents';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [AGENT],
      migrations: [],
    }),
  ],
  controllers: [AgentsController],
  providers: [AgentsService, SuspendedAgents, WatchedAgents],
  exports: [SuspendedAgents, WatchedAgents],
})
export class AgentsModule {}
