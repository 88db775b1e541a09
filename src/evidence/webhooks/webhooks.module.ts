import { Module } from '@nestjs/common';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { EventsModule } from '../events/events.module';
import { LedgerModule } from '../../ledger/ledger.module';
import { DeliveryPosition, DeliveryProgressStore } from './delivery/delivery-position-store';
import { WebhookDispatcher } from './delivery/webhook-dispatcher';
import { DeliveryLease, WebhookLease } from './delivery/delivery-lease';
import { WebhookSender } from './delivery/webhook-sender';
import { WebhookBodies } from './messages/webhook-bodies';
import { WEBHOOK } from './webhook.entity';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

const OUTSIDE_THE_LEDGER = new SchemaContribution([DeliveryPosition, WebhookLease], []);

@Module({
  imports: [LedgerModule.forFeature({ kinds: [WEBHOOK] }), EventsModule],
  controllers: [WebhooksController],
  providers: [
    WebhooksService,
    WebhookDispatcher,
    WebhookSender,
    WebhookBodies,
    DeliveryProgressStore,
    DeliveryLease,
    { provide: SchemaContribution, useValue: OUTSIDE_THE_LEDGER },
  ],
  exports: [WebhookBodies, WebhookDispatcher, DeliveryLease],
})
export class WebhooksModule {}
