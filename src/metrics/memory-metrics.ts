import { Injectable } from '@nestjs/common';
import { BodyMemory } from '../http/body/body-memory';
import { Metrics } from './metrics';
import { AnswerMemory } from '../http/answers/answer-memory';

/** The memory held by large bodies, as metrics. */
@Injectable()
export class BodyMetrics {
  constructor(metrics: Metrics, room: BodyMemory) {
    metrics.gauge(
      'governance_held_body_bytes',
      'Bytes of the bodies above 16 KiB that are being read or processed.',
      () => room.heldBytes,
    );
    metrics.gauge(
      'governance_waiting_bodies',
      'Bodies above 16 KiB that wait unread until others have been processed.',
      () => room.waiting,
    );
  }
}

/** The memory held by large answers, as a metric. */
@Injectable()
export class AnswerMetrics {
  constructor(metrics: Metrics, room: AnswerMemory) {
    metrics.gauge(
      'governance_held_answer_bytes',
      'Bytes of the answers above 16 KiB that their clients have not read yet.',
      () => room.heldBytes,
    );
  }
}
