import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { AnswersModule } from '../http/answers/answers.module';
import { BodyModule } from '../http/body/body.module';
import { AccessMetrics } from './access-metrics';
import { AnswerMetrics, BodyMetrics } from './memory-metrics';
import { CheckpointMetrics } from './checkpoint-metrics';
import { LedgerMetrics } from './ledger-metrics';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';
import { RequestMetrics } from './request-metrics';
import { VerificationMetrics } from './verification-metrics';
import { VerificationModule } from '../verification/verification.module';

/** What the service reports to Prometheus, at `/metrics`. */
@Module({
  imports: [AnswersModule, BodyModule, CheckpointsModule, VerificationModule],
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
