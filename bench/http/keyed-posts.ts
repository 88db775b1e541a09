import type { LoadRequest } from '../support/load-generator';
import type { RequestPair } from './request-pair';
import { SAMPLE_REQUEST } from './sample-entity';

/**
 * What it costs to store a POST for repetition: the same request with an idempotency key of its own and without; the header without
 * meaning is as long.
 */
export const KEYED_POSTS: RequestPair = {
  title: 'POST and Idempotency-Key',
  name: 'POST',
  first: { is: 'with an Idempotency-Key', request: postWith('Idempotency-Key') },
  second: { is: 'without', request: postWith('Unregarded-Key') },
  bars: { requestsPerSecond: 0.67, processorMicroseconds: { atMost: 1.5 } },
};

function postWith(freshHeader: string): LoadRequest {
  return { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST), freshHeader };
}
