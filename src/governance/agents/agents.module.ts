import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { AGENT } from './agent.entity';
import { AgentsController } from './agents.controller';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { AgentEmails, MailRecipient } from './agent-emails';
import { DirectoryUser, DirectoryUsers } from './directory-users';
import { Teams1766600000000 } from './teams.migration';
import { AgentsService, AgentCache } from './agents.service';

const OUTSIDE_THE_LEDGER = new SchemaContribution([MailRecipient, DirectoryUser], []);

@Module({
  imports: [LedgerModule.forFeature({ kinds: [AGENT], migrations: [Teams1766600000000] })],
  controllers: [AgentsController],
  providers: [
    AgentsService,
    AgentCache,
    AgentEmails,
    DirectoryUsers,
    { provide: SchemaContribution, useValue: OUTSIDE_THE_LEDGER },
  ],
  exports: [AgentCache, AgentEmails, DirectoryUsers],
})
export class AgentsModule {}
