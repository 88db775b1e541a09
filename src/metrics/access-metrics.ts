import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { AccessDenials } from '../http/authentication/access-denials';
import { Metrics } from './metrics';

/** Refusals of callers, as metrics: every one, even where one audit entry stands for many. */
@Injectable()
export class AccessMetrics {
  constructor({ registry }: Metrics, denials: AccessDenials) {
    new Counter({
      name: 'governance_access_denials_total',
      help: 'Requests refused because of who the caller is; the audit trail records one per second for each caller and reason.',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of denials.counts) this.inc({ reason }, count);
      },
    });
  }
}
