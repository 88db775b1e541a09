import { Module } from '@nestjs/common';
import { LedgerMetrics } from './ledger-metrics';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { MetricsServer } from './metrics-server';
import { RequestMetrics } from './request-metrics';

/** What the service tells Prometheus, at `/metrics`. */
@Module({ controllers: [MetricsController], providers: [Metrics, LedgerMetrics, RequestMetrics, MetricsServer] })
export class MetricsModule {}
