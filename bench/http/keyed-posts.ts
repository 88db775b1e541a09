import type { Request } from 'autocannon';
import type { RequestPair } from './request-pair';
import { SAMPLE_REQUEST } from './sample-entity';

/** Replaced by another text in each request. */
const FRESH = '[<id>]';

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
  options: { idReplacement: true },
};

function postWith(header: string): Request {
  const headers = { [header]: FRESH };
  return { method: 'POST', path: '/api/v1/entities', body: JSON.stringify(SAMPLE_REQUEST), headers };
}
