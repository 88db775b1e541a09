import { Module } from '@nestjs/common';
import { SchemaContribution } from '../database/start-condition';
import { EventsModule } from '../events/events.module';
import { LedgerModule } from '../ledger/ledger.module';
import { DeliveryProgressStore } from './delivery/delivery-progress-store';
import { WebhookDispatcher } from './delivery/webhook-dispatcher';
import { WebhookLease } from './delivery/webhook-lease.entity';
import { WebhookSender } from './delivery/webhook-sender';
import { DeliveryProgress } from './delivery/delivery-progress.entity';
import { DeliveryFailures1764300000010 } from './delivery-failures.migration';
import { ReplayHeads1764300000011 } from './replay-heads.migration';
import { WEBHOOK } from './webhook.kind';
import { WebhooksController } from './webhooks.controller';
import { WebhooksSchema1764200000010 } from './webhooks-schema.migration';
import { WebhookTests } from './webhook-tests';
import { WebhooksService } from './webhooks.service';

const MIGRATIONS = [WebhooksSchema1764200000010, DeliveryFailures1764300000010, ReplayHeads1764300000011];
/** Their migrations are part of the records' migrations. */
const OUTSIDE_THE_LEDGER = new SchemaContribution([DeliveryProgress, WebhookLease], []);

@Module({
  imports: [LedgerModule.forFeature({ kinds: [WEBHOOK], migrations: MIGRATIONS }), EventsModule],
  controllers: [WebhooksController],
  providers: [
    WebhooksService,
    WebhookTests,
    WebhookDispatcher,
    WebhookSender,
    DeliveryProgressStore,
    { provide: SchemaContribution, useValue: OUTSIDE_THE_LEDGER },
  ],
})
export class WebhooksModule {}
