import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServiceRequest } from '../http/request/service-request';

const current = new AsyncLocalStorage<ServiceRequest>();

/** From here on, everything started in this turn of the event loop belongs to the request. */
export function beginRequest(request: ServiceRequest): void {
  current.enterWith(request);
}

/** The id of the request being served, for log lines; undefined if there is none. */
export function currentRequestId(): string | undefined {
  return current.getStore()?.id;
}
