import { Injectable } from '@nestjs/common';
import { AnswerRoom } from '../http/answers/answer-room';
import { Metrics } from './metrics';

/** What large answers take of memory, as a metric. */
@Injectable()
export class AnswerMetrics {
  constructor(metrics: Metrics, room: AnswerRoom) {
    metrics.gauge(
      'governance_held_answer_bytes',
      'Bytes of the answers above 16 KiB that their clients have not taken.',
      () => room.heldBytes,
    );
  }
}
