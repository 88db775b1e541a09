import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { BodyModule } from '../http/body/body.module';
import { BodyMetrics } from './body-metrics';
import { CheckpointMetrics } from './checkpoint-metrics';
import { LedgerMetrics } from './ledger-metrics';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';
import { RequestMetrics } from './request-metrics';

/** What the service tells Prometheus, at `/metrics`. */
@Module({
  imports: [BodyModule, CheckpointsModule],
  controllers: [MetricsController],
  providers: [Metrics, LedgerMetrics, BodyMetrics, CheckpointMetrics, RequestMetrics, MetricsServer],
})
export class MetricsModule {}
