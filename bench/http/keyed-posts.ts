import type { LoadRequest } from '../support/load-generator';
import type { RequestPair } from './request-pair';
import { SAMPLE_REQUEST } from './sample-entity';

/**
 * Shows the cost of storing the answer to a POST for its repetition: the same request with a new idempotency key each
 * time, and with a header of the same length that means nothing.
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
