import { Module } from '@nestjs/common';
import { Metrics } from './metrics';
import { CheckpointsModule } from '../../evidence/checkpoints/checkpoints.module';
import { VerificationModule } from '../../evidence/verification/verification.module';
import { MailModule } from '../../evidence/mail/mail.module';
import { WebhooksModule } from '../../evidence/webhooks/webhooks.module';
import { MetricsServer } from './metrics-server';
import { MetricsController } from './metrics.controller';

/** Reports metrics to Prometheus, at `/metrics`. */
@Module({
  imports: [CheckpointsModule, MailModule, VerificationModule, WebhooksModule],
  controllers: [MetricsController],
  providers: [Metrics, MetricsServer],
})
export class MetricsModule {}
