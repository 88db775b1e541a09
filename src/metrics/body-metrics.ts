import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { BodyRoom } from '../http/body/body-room';
import { Metrics } from './metrics';

/** What large bodies take of memory, as metrics. */
@Injectable()
export class BodyMetrics {
  constructor({ registry }: Metrics, room: BodyRoom) {
    const registers = [registry];
    new Gauge({
      name: 'governance_held_body_bytes',
      help: 'Bytes of the bodies above 16 KiB that are being read or worked on.',
      registers,
      collect() {
        this.set(room.heldBytes);
      },
    });
    new Gauge({
      name: 'governance_waiting_bodies',
      help: 'Bodies above 16 KiB that stay unread until others are done with.',
      registers,
      collect() {
        this.set(room.waiting);
      },
    });
  }
}
