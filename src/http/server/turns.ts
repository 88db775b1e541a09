import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Most requests that may wait on a connection behind the one being answered, and most bytes that may arrive meanwhile.
 */
const MOST_WAITING = 100;
const MOST_BYTES = 256 * 1024;

/** A request that came while an earlier one of its connection was unanswered. */
interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Bytes that its connection had read when the request came. */
  readonly bytesRead: number;
}

/**
 * Starts the requests of each connection one at a time: the next begins when the client has the answer to the previous
 * one. Node would start all requests a client sends at once, and buffer the answers it does not read.
 */
export class Turns {
  private readonly latest = new WeakMap<Duplex, ServerResponse>();
  private readonly lines = new WeakMap<Duplex, Waiting[]>();
  private readonly emit: Server['emit'];

  constructor(server: Server) {
    this.emit = server.emit.bind(server);
    // Listeners see a request only when its turn has come.
    const emit = (event: string, ...parameters: unknown[]): boolean =>
      event === 'request'
        ? this.come(parameters[0] as IncomingMessage, parameters[1] as ServerResponse)
        : this.emit(event, ...parameters);
    Object.assign(server, { emit });
  }

  /** The last answer still to come; null if there is none. */
  pendingOn(socket: Duplex): ServerResponse | null {
    const waiting = this.lines.get(socket)?.at(-1);
    if (waiting !== undefined) return waiting.response;
    const latest = this.latest.get(socket);
    return latest === undefined || latest.closed ? null : latest;
  }

  private come(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const pending = this.pendingOn(socket);
    if (pending === null) return this.begin(request, response);
    const line = this.lines.get(socket) ?? [];
    if (line.length === 0) this.awaitTurn(socket, pending);
    this.lines.set(socket, line);
    line.push({ request, response, bytesRead: socket.bytesRead });
    if (isTooLong(line, socket)) socket.destroy();
    else socket.pause();
    return true;
  }

  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    this.latest.set(request.socket, response);
    return this.emit('request', request, response);
  }

  private awaitTurn(socket: Socket, before: ServerResponse): void {
    before.once('close', () => this.next(socket));
  }

  private next(socket: Socket): void {
    const line = this.lines.get(socket) ?? [];
    const next = line.shift();
    if (next === undefined) return;
    // The client has left, or the previous answer was the last one of its connection.
    if (!socket.writable) {
      this.lines.delete(socket);
      return;
    }
    if (line.length > 0) this.awaitTurn(socket, next.response);
    else socket.resume();
    this.begin(next.request, next.response);
  }
}

function isTooLong(line: readonly Waiting[], socket: Socket): boolean {
  const bytesBefore = line[0]?.bytesRead ?? socket.bytesRead;
  return line.length > MOST_WAITING || socket.bytesRead - bytesBefore > MOST_BYTES;
}
