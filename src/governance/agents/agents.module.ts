import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { AGENT } from './agent.entity';
import { AgentsController } from './agents.controller';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { AgentEmails, MailRecipient } from './agent-emails';
import { AgentsService, AgentCache } from './agents.service';

const OUTSIDE_THE_LEDGER = new SchemaContribution([MailRecipient], []);

@Module({
  imports: [LedgerModule.forFeature({ kinds: [AGENT] })],
  controllers: [AgentsController],
  providers: [AgentsService, AgentCache, AgentEmails, { provide: SchemaContribution, useValue: OUTSIDE_THE_LEDGER }],
  exports: [AgentCache, AgentEmails],
})
export class AgentsModule {}
