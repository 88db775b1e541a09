import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ConnectionLimits, ConnectionLimiter } from './connection-limiter';
import { Turns } from './turns';
import type { RateLimits } from '../rate-limit/rate-limits';
import type { ServiceRequest } from '../request/service-request';
import { readTarget } from './readable-target';
import { answerRefusedRequests } from './refused-requests';

/** Milliseconds a client may take to send the head of a request, from the first byte or the connection on. */
const HEADERS_TIMEOUT = 10_000;
/** Milliseconds a client may take to send a request whole. */
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds between two looks for clients that took longer; Node's own half a minute would let them stay as long. */
const CHECKING_INTERVAL = 2_000;
/** Milliseconds in which nothing of an answer could be written, the client taking nothing of it. */
const STALLED_TIMEOUT = 30_000;
/** Longer than the usual idle time of a proxy in front, which should be the one to close. */
const KEEP_ALIVE_TIMEOUT = 65_000;
/** Bytes of a request's first line and headers together. */
const MOST_HEADER_BYTES = 16 * 1024;
/** None: Node would drop those beyond silently, a second key among them. Their bytes are bounded. */
const MOST_HEADERS = 0;

/** Bounds what clients may hold of a server: time, bytes and connections. To be set before it listens. */
export function limitServer(server: Server, limits: ConnectionLimits): Turns {
  server.headersTimeout = HEADERS_TIMEOUT;
  server.requestTimeout = REQUEST_TIMEOUT;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT;
  server.maxHeadersCount = MOST_HEADERS;
  // Options of a server that somebody else has made.
  Object.assign(server, { connectionsCheckingInterval: CHECKING_INTERVAL, maxHeaderSize: MOST_HEADER_BYTES });
  server.prependListener('connection', (socket: Socket) => socket.on('error', outliveReset));
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    response.setTimeout(STALLED_TIMEOUT).on('timeout', endStalled);
  });
  const turns = new Turns(server);
  new ConnectionLimiter(server, turns, limits);
  return turns;
}

/**
 * A reset comes at any moment, and without a listener it would end the process. Node has one on a socket for as long as it
 * reads requests from it; it has none on what it hands over for a tunnel. What was being done learns of it by `close`.
 */
const outliveReset = (): void => undefined;

/**
 * A socket times out when nothing moves on it; while the client takes what was written, Node waits on. Given up is only an
 * answer that waits to be taken, with what the system holds of it: one that is still being made may take any time.
 */
function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.resetAndDestroy();
}

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
