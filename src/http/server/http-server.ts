import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { RateLimits } from '../rate-limit/rate-limits';
import type { ServiceRequest } from '../service-request';
import { readTarget } from './readable-target';
import { answerRefusedRequests } from './refused-requests';
import type { Turns } from './turns';

/** Sets Node's server up: our answers in place of its own. */
export function prepareServer(server: Server, turns: Turns, limits: RateLimits): void {
  // Node would answer a request without Host itself, in another shape; `readTarget` refuses it behind the guards.
  Object.assign(server, { requireHostHeader: false });
  server.prependListener('request', readTarget);
  server.on('checkContinue', (request: ServiceRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    // An expectation nobody knows may be ignored; Node would refuse it in another shape.
    server.emit('request', request, response);
  });
  answerRefusedRequests(server, turns, limits);
}
