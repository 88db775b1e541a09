import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../../evidence/checkpoints/checkpoints.module';
import { AccessMetrics, AnswerMetrics, BodyMetrics, CheckpointMetrics, Metrics, VerificationMetrics } from './metrics';
import { LedgerMetrics } from './ledger-metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';
import { RequestMetrics } from './request-metrics';
import { VerificationModule } from '../../evidence/verification/verification.module';

/** What the service reports to Prometheus, at `/metrics`. */
@Module({
  imports: [CheckpointsModule, VerificationModule],
  controllers: [MetricsController],
  providers: [
    Metrics,
    AccessMetrics,
    LedgerMetrics,
    AnswerMetrics,
    BodyMetrics,
    CheckpointMetrics,
    RequestMetrics,
    VerificationMetrics,
    MetricsServer,
  ],
})
export class MetricsModule {}
