import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Checkpoints } from '../checkpoints/checkpoints.service';
import { Metrics } from './metrics';

/** What is signed of the log, as metrics. */
@Injectable()
export class CheckpointMetrics {
  constructor({ registry }: Metrics, checkpoints: Checkpoints) {
    const registers = [registry];
    new Gauge({
      name: 'governance_checkpoint_size',
      help: 'Entries of the last checkpoint that this process has signed or found kept.',
      registers,
      collect() {
        this.set(checkpoints.lastSize);
      },
    });
    new Gauge({
      name: 'governance_checkpoint_contradicted',
      help: '1 while the log contradicts the kept checkpoint, so that none is signed, otherwise 0.',
      registers,
      collect() {
        this.set(checkpoints.isContradicted ? 1 : 0);
      },
    });
  }
}
