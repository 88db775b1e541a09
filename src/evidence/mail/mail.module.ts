import { Module } from '@nestjs/common';
import { MailSender } from './mail-sender';
import { AgentsModule } from '../../governance/agents/agents.module';
import { ChangesModule } from '../../governance/changes/changes.module';
import { DecisionsModule } from '../../governance/decisions/decisions.module';
import { WebhooksModule } from '../webhooks/webhooks.module';
import { EmergencyWarning } from './emergency-warning';
import { MailDispatcher } from './mail-dispatcher';

@Module({
  imports: [AgentsModule, ChangesModule, DecisionsModule, WebhooksModule],
  providers: [MailDispatcher, MailSender, EmergencyWarning],
  exports: [MailDispatcher],
})
export class MailModule {}
