import type { ServerProcess } from '../support/server-process';
import type { RequestPair } from './request-pair';

/** Returns a pair: a GET with an issued key, which is looked up, and a GET with the key of the environment. */
export async function issuedKeyReads(service: ServerProcess, path: string): Promise<RequestPair> {
  const key = await service.send('POST', '/api/v1/api-keys', { name: 'benchmark', scopes: ['read'] });
  const { secret } = key as { secret: string };
  return {
    title: 'GET by id and whose key it is',
    name: 'GET by id',
    first: { is: 'with an issued key', request: { method: 'GET', path, headers: { 'X-API-Key': secret } } },
    second: { is: "with the environment's", request: { method: 'GET', path } },
    bars: { requestsPerSecond: 0.95, processorMicroseconds: { atMost: 1.05 } },
  };
}
