import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../../evidence/checkpoints/checkpoints.module';
import { VerificationModule } from '../../evidence/verification/verification.module';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';

/** What the service reports to Prometheus, at `/metrics`. */
@Module({
  imports: [CheckpointsModule, VerificationModule],
  controllers: [MetricsController],
  providers: [Metrics, MetricsServer],
})
export class MetricsModule {}
