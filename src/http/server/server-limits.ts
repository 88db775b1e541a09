import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ConnectionLimits, ConnectionLimiter } from './connection-limiter';
import { PipelinedRequests } from './pipelined-requests';
import type { RateLimits } from '../rate-limit/rate-limits';
import type { ServiceRequest } from '../request/service-request';
import { readTarget } from './readable-target';
import { answerRefusedRequests } from './refused-requests';

/** Milliseconds a client may take to send the head of a request, from the first byte or the connection on. */
const HEADERS_TIMEOUT = 10_000;
/** Milliseconds a client may take to send a whole request. */
const REQUEST_TIMEOUT = 30_000;
/**
 * Milliseconds between checks for clients that took longer; with Node's default of 30 seconds they could stay that much
 * longer.
 */
const CHECKING_INTERVAL = 2_000;
/** Milliseconds without progress in writing an answer because the client reads nothing. */
const STALLED_TIMEOUT = 30_000;
/** Longer than the usual idle time of a proxy in front, which should be the one to close. */
const KEEP_ALIVE_TIMEOUT = 65_000;
/** Bytes of a request's first line and headers together. */
const MOST_HEADER_BYTES = 16 * 1024;
/** Unlimited: Node would drop excess headers silently, a second key among them. Their bytes are limited. */
const MOST_HEADERS = 0;

/** Limits what clients may use of a server: time, bytes and connections. To be called before it listens. */
export function limitServer(server: Server, limits: ConnectionLimits): PipelinedRequests {
  server.headersTimeout = HEADERS_TIMEOUT;
  server.requestTimeout = REQUEST_TIMEOUT;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT;
  server.maxHeadersCount = MOST_HEADERS;
  // These are constructor options, but the server already exists.
  Object.assign(server, { connectionsCheckingInterval: CHECKING_INTERVAL, maxHeaderSize: MOST_HEADER_BYTES });
  server.prependListener('connection', (socket: Socket) => socket.on('error', outliveReset));
  const pipelined = new PipelinedRequests(server);
  server.setTimeout(STALLED_TIMEOUT, (socket) => endStalled(socket, pipelined));
  new ConnectionLimiter(server, pipelined, limits);
  return pipelined;
}

/**
 * A reset can come at any moment, and without a listener it would end the process. Node has one on a socket while it
 * reads requests from it, but not on a socket handed over for a tunnel. Work in progress learns of it from `close`.
 */
const outliveReset = (): void => undefined;

/**
 * A socket times out when nothing moves on it, but Node waits on while the client reads nothing. Only an answer that is
 * ready to be read is given up, together with the part that the system has buffered: one that is still being computed
 * may take any time. A connection without a request has been idle for as long as it may.
 */
function endStalled(socket: Socket, pipelined: PipelinedRequests): void {
  if (pipelined.pendingOn(socket) === null) socket.destroy();
  else if (socket.writableLength > 0) socket.resetAndDestroy();
}

/** Configures Node's server to send our answers in place of its own. */
export function prepareServer(server: Server, pipelined: PipelinedRequests, limits: RateLimits): void {
  // Node would answer a request without Host itself, in another shape; `readTarget` refuses it after the guards.
  Object.assign(server, { requireHostHeader: false });
  server.prependListener('request', readTarget);
  server.on('checkContinue', (request: ServiceRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    // An unknown expectation may be ignored; Node would refuse it in another shape.
    server.emit('request', request, response);
  });
  answerRefusedRequests(server, pipelined, limits);
}
