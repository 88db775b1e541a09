import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { CheckpointMetrics } from './checkpoint-metrics';
import { LedgerMetrics } from './ledger-metrics';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';
import { RequestMetrics } from './request-metrics';

/** What the service tells Prometheus, at `/metrics`. */
@Module({
  imports: [CheckpointsModule],
  controllers: [MetricsController],
  providers: [Metrics, LedgerMetrics, CheckpointMetrics, RequestMetrics, MetricsServer],
})
export class MetricsModule {}
