import { Module } from '@nestjs/common';
import { MailSender } from './mail-sender';
import { AgentsModule } from '../../governance/agents/agents.module';
import { DecisionsModule } from '../../governance/decisions/decisions.module';
import { WebhooksModule } from '../webhooks/webhooks.module';
import { MailDispatcher } from './mail-dispatcher';

@Module({
  imports: [AgentsModule, DecisionsModule, WebhooksModule],
  providers: [MailDispatcher, MailSender],
  exports: [MailDispatcher],
})
export class MailModule {}
