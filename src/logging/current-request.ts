import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServiceRequest } from '../http/request/service-request';

const current = new AsyncLocalStorage<ServiceRequest>();

/** From here on, whatever this turn of the event loop sets going works for the request. */
export function beginRequest(request: ServiceRequest): void {
  current.enterWith(request);
}

/** The id of the request being served, for the lines written meanwhile; undefined when there is none. */
export function currentRequestId(): string | undefined {
  return current.getStore()?.id;
}
