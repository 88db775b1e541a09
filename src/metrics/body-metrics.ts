import { Injectable } from '@nestjs/common';
import { BodyRoom } from '../http/body/body-room';
import { Metrics } from './metrics';

/** What large bodies take of memory, as metrics. */
@Injectable()
export class BodyMetrics {
  constructor(metrics: Metrics, room: BodyRoom) {
    metrics.gauge(
      'governance_held_body_bytes',
      'Bytes of the bodies above 16 KiB that are being read or worked on.',
      () => room.heldBytes,
    );
    metrics.gauge(
      'governance_waiting_bodies',
      'Bodies above 16 KiB that stay unread until others are done with.',
      () => room.waiting,
    );
  }
}
