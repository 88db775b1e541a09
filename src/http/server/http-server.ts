import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { RateLimits } from '../rate-limit/rate-limits';
import type { ServiceRequest } from '../service-request';
import { answerRefusedRequests } from './refused-requests';

/** Milliseconds a client may take to send its headers, and the whole request. */
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
/** Longer than the usual idle time of a proxy in front, which should be the one to close. */
const KEEP_ALIVE_TIMEOUT = 65_000;

/** Sets Node's server up: its timeouts, and our answers in place of its own. */
export function prepareServer(server: Server, limits: RateLimits): void {
  server.headersTimeout = HEADERS_TIMEOUT;
  server.requestTimeout = REQUEST_TIMEOUT;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT;
  // Node would answer a request without Host itself, in another shape; `readTarget` refuses it behind the guards.
  Object.assign(server, { requireHostHeader: false });
  server.on('checkContinue', (request: ServiceRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    // An expectation nobody knows may be ignored; Node would refuse it in another shape.
    server.emit('request', request, response);
  });
  answerRefusedRequests(server, limits);
}
