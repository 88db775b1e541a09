import { AsyncResource } from 'node:async_hooks';
import { createServer, IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { countedClient, unmapAddress } from '../../core/values/ip-address';
import type { ServiceRequest } from '../request/service-request';
import { readNoneAfterEnd } from './last-request';

const OPTIONS: ServerOptions = {
  /** Milliseconds a client may take to send the head of a request, from the first byte or the connection on. */
  headersTimeout: 10_000,
  /** Milliseconds a client may take to send a whole request. */
  requestTimeout: 30_000,
  /**
   * Milliseconds between checks for clients that took longer; Node's default of 30 seconds would let them stay that
   * much longer.
   */
  connectionsCheckingInterval: 2_000,
  /** Milliseconds, more than the usual idle time of a proxy in front, which should be the one to close. */
  keepAliveTimeout: 65_000,
  /** Most bytes of a request's first line and headers together. */
  maxHeaderSize: 16 * 1024,
  insecureHTTPParser: false,
  /**
   * Off: Node would respond itself to a request without Host, in another shape; `readTarget` refuses it after the
   * guards.
   */
  requireHostHeader: false,
};
/** Milliseconds without progress in writing a response because the client reads nothing. */
const STALLED_TIMEOUT_MS = 30_000;
/** Unlimited: Node would drop excess headers silently, a second key among them. Their bytes are limited. */
const MAX_HEADERS = 0;

/** Event of the server when it is a request's turn on its connection; listeners get the request and its response. */
export const TURN = 'turn';
/**
 * Event when the client has the response, or has left; listeners also get the milliseconds since the request's turn
 * came.
 */
export const OVER = 'over';

/** The classes of a server's messages, which no other server has. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse?: typeof ServerResponse;
}

/** Makes a server that limits how long its clients may take. It serves their requests through its event `TURN`. */
export function createHttpServer(
  classes: MessageClasses = { IncomingMessage: class extends IncomingMessage {} },
): Server {
  readNoneAfterEnd(classes.IncomingMessage);
  const server = createServer({ ...OPTIONS, ...classes });
  server.maxHeadersCount = MAX_HEADERS;
  server.setTimeout(STALLED_TIMEOUT_MS, endStalled);
  server.on('connection', (socket: Socket) => socket.on('error', outliveReset));
  const take = inTurn((request, response) => {
    const began = performance.now();
    // Node emits `close` once, so `once` would only cost more.
    response.on('close', () => server.emit(OVER, request, response, performance.now() - began));
    server.emit(TURN, request, response);
  });
  server.on('request', take);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    (request as ServiceRequest).expectsContinue = true;
    take(request, response);
  });
  // An unknown expectation may be ignored; Node would refuse it in another shape.
  server.on('checkExpectation', take);
  return server;
}

/**
 * Ignores a reset, which can come at any moment and would end the process without a listener. Node has a listener on a
 * socket while it reads requests, but not on a socket handed over for a tunnel. Work in progress learns of a reset from
 * `close`.
 */
const outliveReset = (): void => undefined;

/**
 * Ends a stalled connection. A socket times out when nothing moves on it, but Node waits on while the client reads
 * nothing. Only a response that is ready to be read is given up, together with the part that the system has buffered;
 * a response that is still being computed may take any time. A connection without a request has used up its idle time.
 */
function endStalled(socket: Socket): void {
  if (pendingOn(socket) === null) socket.destroy();
  else if (socket.writableLength > 0) socket.resetAndDestroy();
}

/** Most requests that may wait on a connection behind the request being answered. */
const MAX_WAITING = 100;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests of a connection that are answered one after another. */
interface Turns {
  /** Response to the request that came last. */
  latest: ServerResponse;
  /** Number of requests that wait for their turn. */
  waiting: number;
}

const turnsOf = new WeakMap<Duplex, Turns>();

/**
 * Returns a listener that serves the requests of each connection one at a time: the next begins when the client has the
 * previous response. Node.js would start all requests that a client sends at once, and buffer the responses that it
 * does not read. While requests wait, no more are read.
 */
function inTurn(serve: Serve): Serve {
  return (request, response) => {
    const turns = turnsOf.get(request.socket);
    const previous = turns?.latest;
    if (turns === undefined) turnsOf.set(request.socket, { latest: response, waiting: 0 });
    else turns.latest = response;
    if (turns === undefined || previous === undefined || previous.closed) serve(request, response);
    else wait(turns, request, previous, () => serve(request, response));
  };
}

function wait(turns: Turns, { socket }: IncomingMessage, previous: ServerResponse, serve: () => void): void {
  turns.waiting += 1;
  if (turns.waiting > MAX_WAITING) socket.destroy();
  else socket.pause();
  const begin = (): void => {
    turns.waiting -= 1;
    // If the socket is closed, the client has left, or the previous response was the last one of its connection.
    if (!socket.writable) return;
    if (turns.waiting === 0) socket.resume();
    serve();
  };
  previous.once('close', AsyncResource.bind(begin));
}

/** Returns the last pending response of a connection; null if there is none. */
export function pendingOn(socket: Duplex): ServerResponse | null {
  const latest = turnsOf.get(socket)?.latest;
  return latest === undefined || latest.closed ? null : latest;
}

/** True if a response was sent before the body of its request had arrived. */
export function isAheadOfBody(socket: Duplex): boolean {
  const latest = turnsOf.get(socket)?.latest;
  return latest !== undefined && latest.headersSent && !latest.req.complete;
}

/**
 * Share of all connections that one client may hold by default. If less than this share is free, connections close
 * after their response.
 */
const PART = 1 / 5;
/** One connection for requests, and one to check whether they are answered. */
const MIN_PER_CLIENT = 2;

/** Limits of connections. */
interface ConnectionLimits {
  readonly most: number;
  /** Null for a fifth of all connections. */
  readonly mostPerClient: number | null;
  /** True for the address of a proxy that forwards the requests of many clients. */
  isProxy(address: string): boolean;
}

/** A client or a proxy, with its connections, the oldest first. */
interface Holder {
  readonly name: string;
  readonly most: number;
  readonly connections: Set<Socket>;
}

/**
 * Limits the connections of a server. Closes a connection beyond its client's limit on arrival. If all are in use,
 * closes an idle connection of the client that has most instead, so that clients with few connections get through.
 */
export class ConnectionLimiter {
  private readonly holders = new Map<string, Holder>();
  private readonly holderOf = new WeakMap<Socket, Holder>();
  private readonly mostPerClient: number;
  private count = 0;

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    this.mostPerClient = limits.mostPerClient ?? Math.max(MIN_PER_CLIENT, partOf(limits.most));
    server.on('connection', (socket: Socket) => {
      if (!this.admit(socket)) socket.destroy();
    });
    server.prependListener(TURN, ({ socket }: IncomingMessage, response: ServerResponse) => {
      if (this.isScarceFor(socket)) response.setHeader('Connection', 'close');
    });
  }

  private admit(socket: Socket): boolean {
    const holder = this.holderAt(unmapAddress(socket.remoteAddress ?? ''));
    if (holder.connections.size >= holder.most || !this.makeRoom()) return false;
    this.holders.set(holder.name, holder);
    this.holderOf.set(socket, holder);
    holder.connections.add(socket);
    this.count += 1;
    socket.on('close', () => this.leave(socket, holder));
    return true;
  }

  private leave(socket: Socket, { name, connections }: Holder): void {
    if (!connections.delete(socket)) return;
    this.count -= 1;
    if (connections.size === 0) this.holders.delete(name);
  }

  private makeRoom(): boolean {
    if (this.count < this.limits.most) return true;
    const [socket, holder] = this.oldestIdleOfLargest() ?? [];
    if (socket === undefined || holder === undefined) return false;
    this.leave(socket, holder);
    socket.destroy();
    return true;
  }

  private oldestIdleOfLargest(): readonly [Socket, Holder] | undefined {
    let oldest: readonly [Socket, Holder] | undefined;
    for (const holder of this.holders.values()) {
      if (holder.connections.size <= (oldest?.[1].connections.size ?? 0)) continue;
      const idle = this.oldestIdleOf(holder);
      if (idle !== undefined) oldest = [idle, holder];
    }
    return oldest;
  }

  private oldestIdleOf({ connections }: Holder): Socket | undefined {
    for (const socket of connections) if (pendingOn(socket) === null) return socket;
    return undefined;
  }

  /** True if a connection should be closed after its response. */
  private isScarceFor(socket: Socket): boolean {
    const holder = this.holderOf.get(socket);
    const isOwnScarce = holder !== undefined && holder.most - holder.connections.size < partOf(holder.most);
    return isOwnScarce || this.limits.most - this.count < partOf(this.limits.most);
  }

  private holderAt(address: string): Holder {
    const isProxy = this.limits.isProxy(address);
    const name = isProxy ? address : countedClient(address);
    const most = isProxy ? Infinity : this.mostPerClient;
    return this.holders.get(name) ?? { name, most, connections: new Set() };
  }
}

function partOf(most: number): number {
  return Math.floor(most * PART);
}
