import { Injectable } from '@nestjs/common';
import { Checkpoints } from '../checkpoints/checkpoints.service';
import { Metrics } from './metrics';

/** The signed checkpoints, as metrics. */
@Injectable()
export class CheckpointMetrics {
  constructor(metrics: Metrics, checkpoints: Checkpoints) {
    metrics.gauge(
      'governance_checkpoint_size',
      'Entries of the last checkpoint that this process has signed or found kept.',
      () => checkpoints.lastSize,
    );
    metrics.gauge(
      'governance_checkpoint_contradicted',
      '1 while the log contradicts the kept checkpoint, so that none is signed, otherwise 0.',
      () => (checkpoints.isContradicted ? 1 : 0),
    );
  }
}
