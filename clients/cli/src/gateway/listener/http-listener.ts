import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ConnectionBound } from './connection-bound.js';
import { resetConnection } from './reset-connection.js';
import type { TlsFiles } from './tls-files.js';
import { Refusal, refusalResponse } from '../calls/refusal.js';
import { readNoneAfterEnd } from '../../service-rules/last-request.js';

const OPTIONS = {
  /** Milliseconds a client may take to send the head of a request. */
  headersTimeout: 10_000,
  /** No limit for the whole request: `readBody` limits the time of a body from the moment it is read. */
  requestTimeout: 0,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 65_000,
  /** Bytes of a request's first line and headers together. */
  maxHeaderSize: 64 * 1024,
  insecureHTTPParser: false,
  /** Requests without `Host` reach `headFault`, which refuses them. */
  requireHostHeader: false,
  noDelay: true,
} as const;
const MAX_CONNECTIONS = 5_000;
/** Connections whose TLS handshake has not ended: as many as the requests that a gateway serves at a time. */
const MAX_HANDSHAKES = 1_000;
/** Milliseconds without progress in writing an answer because the client reads nothing. */
const STALLED_TIMEOUT_MS = 30_000;
/** Milliseconds for which the rest of a refused body is received, so that its client sees the answer. */
const LINGER_MS = 1_000;
/**
 * Maximum number of requests on one connection that wait for the answers before them, and characters of their heads.
 */
const MAX_WAITING_REQUESTS = 10;
const MAX_WAITING_CHARACTERS = 64 * 1024;
/** Bytes of a refused body that are received. */
const MAX_LINGERING_BYTES = 64 * 1024;

export type Serve = (exchange: ClientExchange) => void;

/** A request and its response, with what the connection can do. */
export interface ClientExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Asks the client for the body if it waits to be asked (`Expect: 100-continue`). */
  readonly askForBody: () => void;
  /** Fires when the client has left before it had the whole response. */
  readonly left: AbortSignal;
  /** Fires when the body turns out not to be valid HTTP. */
  readonly malformed: AbortSignal;
}

/** The exchanges of one connection that have not ended. */
const open = new Map<Duplex, Set<OpenExchange>>();

interface OpenExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly left: AbortController;
  readonly malformed: AbortController;
}

/**
 * A server that limits how long and how much its clients may send, and answers what is no HTTP in the gateway's shape.
 */
export function createListener(serve: Serve, tls: TlsFiles | null): Server {
  class ClientRequest extends IncomingMessage {}
  readNoneAfterEnd(ClientRequest);
  const options = { ...OPTIONS, IncomingMessage: ClientRequest };
  const server =
    tls === null
      ? createServer(options)
      : createSecureServer({ ...options, ...tls, handshakeTimeout: OPTIONS.headersTimeout });
  server.maxHeadersCount = 0;
  server.setTimeout(STALLED_TIMEOUT_MS, endStalled);
  ConnectionBound.ofAll(server, isServing, MAX_CONNECTIONS);
  if (tls !== null) ConnectionBound.ofHandshakes(server, MAX_HANDSHAKES);
  const take = (request: IncomingMessage, response: ServerResponse, isWaiting: boolean): void => {
    const before = [...(open.get(request.socket) ?? [])];
    if (isCrowded(before)) {
      request.socket.destroy();
      return;
    }
    if (!server.listening) response.shouldKeepAlive = false;
    const exchange = exchangeOf(request, response, isWaiting);
    const last = before.at(-1);
    if (last === undefined) serve(exchange);
    // What a client sends on one connection takes effect in its order, and none of it once the client has left.
    else last.response.once('close', () => exchange.left.aborted || request.socket.destroyed || serve(exchange));
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => take(request, response, false));
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  // An unknown expectation may be ignored.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response, false));
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    answerRaw(socket, framingRefusal('The gateway opens no tunnels.'));
  });
  server.on('clientError', answerClientError);
  return server;
}

/**
 * Takes no connection any more, and ends each one with its next answer: a client that goes on there would not let the
 * server end.
 */
export function endListener(server: Server): void {
  server.close();
  for (const exchanges of open.values()) for (const { response } of exchanges) response.shouldKeepAlive = false;
}

export function framingRefusal(message: string): Refusal {
  return new Refusal(400, 'framing_invalid', message);
}

/** Sends a refusal. A body that nobody has read is received for a moment, and the connection closed. */
export function sendRefusal({ request, response }: ClientExchange, refusal: Refusal, requestId: string): void {
  const { status, headers, body } = refusalResponse(refusal, requestId);
  const isHead = request.method === 'HEAD';
  if (hasBody(request) && !request.complete) {
    response.setHeader('Connection', 'close');
    linger(request);
  }
  response.writeHead(status, headers).end(isHead ? undefined : body);
}

/** True if the head announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function linger(request: IncomingMessage): void {
  let bytes = 0;
  const { socket } = request;
  request.on('error', () => socket.destroy());
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_LINGERING_BYTES) request.pause();
  });
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

function exchangeOf(request: IncomingMessage, response: ServerResponse, isWaiting: boolean): ClientExchange {
  const left = new AbortController();
  const malformed = new AbortController();
  const exchange = { request, response, left, malformed };
  const exchanges = openOn(request.socket).add(exchange);
  response.once('close', () => {
    exchanges.delete(exchange);
    if (!response.writableFinished) left.abort();
  });
  let needsAsking = isWaiting;
  const askForBody = (): void => {
    if (needsAsking) response.writeContinue();
    needsAsking = false;
  };
  return { request, response, askForBody, left: left.signal, malformed: malformed.signal };
}

/** True if a connection has as many requests as may wait. */
function isCrowded(before: readonly OpenExchange[]): boolean {
  const characters = before.reduce((sum, { request }) => sum + headLength(request), 0);
  return before.length > MAX_WAITING_REQUESTS || characters > MAX_WAITING_CHARACTERS;
}

function headLength({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}

/** The open exchanges of a connection. Node.js tells only the first of them that the connection has closed. */
function openOn(socket: Socket): Set<OpenExchange> {
  const existing = open.get(socket);
  if (existing !== undefined) return existing;
  const exchanges = new Set<OpenExchange>();
  open.set(socket, exchanges);
  socket.once('close', () => {
    open.delete(socket);
    for (const { left } of exchanges) left.abort();
  });
  return exchanges;
}

/** True if a connection has a request that has not ended. */
function isServing(socket: Socket): boolean {
  return (open.get(socket)?.size ?? 0) > 0;
}

/**
 * Ends a connection after the timeout if it has no request, or if its client reads nothing: Node.js would wait for
 * ever. A response that is still being made may take any time.
 */
function endStalled(socket: Socket): void {
  if (!isServing(socket)) socket.destroy();
  else if (socket.writableLength > 0) resetConnection(socket);
}

function answerClientError(fault: NodeJS.ErrnoException, socket: Duplex): void {
  const [first] = open.get(socket) ?? [];
  if (first?.request.complete === true) {
    // The client is still owed the answer to what it sent before.
    first.response.once('close', () => socket.destroy());
  } else if (first !== undefined && !first.response.headersSent) {
    first.malformed.abort();
  } else if (first !== undefined || (socket as Socket).bytesRead === 0) {
    // A client would take an answer on an unused connection for the answer to what it is sending.
    socket.destroy();
  } else {
    answerRaw(socket, refusalFor(fault));
  }
}

function refusalFor({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Refusal(431, null, 'The request line and headers are too large together: at most 64 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Refusal(408, null, 'The head of the request must arrive in time.');
  return framingRefusal('The request must be valid HTTP.');
}

function answerRaw(socket: Duplex, refusal: Refusal): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusalResponse(refusal, randomUUID());
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}
