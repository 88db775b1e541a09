import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { DomainError, invalidField } from '../../core/errors/domain-error';
import { errorBody, errorStatus } from './exception.filter';
import { countedClient, unmapAddress } from '../../core/values/ip-address';
import { requestIdFor } from '../request/arrival';
import { SHARED_BUCKET } from '../request/routes';
import type { RateLimits } from '../rate-limit/rate-limits';
import type { ServiceRequest } from '../request/service-request';
import { isAheadOfBody, pendingOn } from '../server/http-server';

const HEADERS_TOO_LARGE = new DomainError('HEADERS_TOO_LARGE', 'The request line and headers are too large together.');
const TOO_SLOW = invalidField('request', 'must arrive in time');
const MALFORMED = invalidField('request', 'must be valid HTTP');
const NO_TUNNELS = invalidField('request', 'must not ask for a tunnel');

/** Responds to requests that Node refuses before it emits them, in our shape, and counts them. */
export function answerRefusedRequests(server: Server, limits: RateLimits): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    if (pendingOn(socket) === null) void refuse(socket, NO_TUNNELS, limits);
    // Node has detached the socket, and the response in progress.
    else socket.destroy();
  });
  server.on('clientError', (fault: NodeJS.ErrnoException, socket: Duplex) => {
    const pending = pendingOn(socket);
    if (isUnused(socket) || isAheadOfBody(socket)) {
      socket.destroy();
    } else if (pending === null) {
      void refuse(socket, errorFor(fault), limits);
    } else if (!pending.req.complete) {
      // The fault is in the request's body, so the code that reads the body responds.
      cut(pending.req as ServiceRequest, fault);
    } else {
      // The client must first get the response to its earlier request.
      pending.once('close', () => void refuse(socket, errorFor(fault), limits));
    }
  });
}

/**
 * True if nothing was received. Browsers and proxies open connections in advance, and would take a response on an
 * unused connection for the one to the request that they are sending. If the connection just ends, they open another.
 */
function isUnused(socket: Duplex): boolean {
  return (socket as Socket).bytesRead === 0;
}

function cut(request: ServiceRequest, fault: Error): void {
  request.isCut = true;
  if (request.listenerCount('error') > 0) {
    request.emit('error', fault);
  }
}

function errorFor({ code }: NodeJS.ErrnoException): DomainError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return HEADERS_TOO_LARGE;
  }
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? TOO_SLOW : MALFORMED;
}

async function refuse(socket: Duplex, error: DomainError, limits: RateLimits): Promise<void> {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const client = countedClient(unmapAddress((socket as Socket).remoteAddress ?? ''));
  const { headers } = await limits.count(SHARED_BUCKET, client);
  socket.end(refusal(error, headers), () => socket.destroy());
}

function refusal(error: DomainError, rateHeaders: readonly (readonly [string, string])[]): string {
  const requestId = requestIdFor(undefined);
  const body = JSON.stringify(errorBody(error, requestId));
  const status = errorStatus(error);
  const headers = [
    ['X-Request-Id', requestId],
    ...rateHeaders,
    ['Content-Type', 'application/json; charset=utf-8'],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers.join('')}\r\n${body}`;
}
