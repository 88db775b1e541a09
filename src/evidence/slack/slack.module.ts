import { Module } from '@nestjs/common';
import { SlackService, SlackReplies } from './slack.service';
import { AgentsModule } from '../../governance/agents/agents.module';
import { DecisionsModule } from '../../governance/decisions/decisions.module';
import { WebhooksModule } from '../webhooks/webhooks.module';
import { SlackController } from './slack.controller';

@Module({
  imports: [AgentsModule, DecisionsModule, WebhooksModule],
  controllers: [SlackController],
  providers: [SlackService, SlackReplies],
})
export class SlackModule {}
