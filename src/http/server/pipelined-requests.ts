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

/** The requests of one connection. */
interface Pipeline {
  /** The answer to the latest request that was started. */
  begun: ServerResponse;
  waiting: Waiting[];
}

/**
 * Starts the requests of each connection one at a time: the next begins when the client has the answer to the previous
 * one. Node would start all requests a client sends at once, and buffer the answers it does not read.
 */
export class PipelinedRequests {
  /** One look-up for each request: more would be felt by all of them. */
  private readonly pipelines = new WeakMap<Duplex, Pipeline>();
  private readonly emit: Server['emit'];

  constructor(server: Server) {
    this.emit = server.emit.bind(server);
    // Listeners see a request only when its turn has come.
    const emit = (event: string, ...parameters: unknown[]): boolean =>
      event === 'request'
        ? this.receive(parameters[0] as IncomingMessage, parameters[1] as ServerResponse)
        : this.emit(event, ...parameters);
    Object.assign(server, { emit });
  }

  /** The last answer still to come; null if there is none. */
  pendingOn(socket: Duplex): ServerResponse | null {
    const pipeline = this.pipelines.get(socket);
    return pipeline === undefined ? null : lastOf(pipeline);
  }

  private receive(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const pipeline = this.pipelines.get(socket);
    if (pipeline === undefined) {
      this.pipelines.set(socket, { begun: response, waiting: [] });
      return this.emit('request', request, response);
    }
    const pending = lastOf(pipeline);
    if (pending === null) return this.begin(pipeline, request, response);
    if (pipeline.waiting.length === 0) this.awaitTurn(pipeline, socket, pending);
    pipeline.waiting.push({ request, response, bytesRead: socket.bytesRead });
    if (isTooLong(pipeline.waiting, socket)) socket.destroy();
    else socket.pause();
    return true;
  }

  private begin(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): boolean {
    pipeline.begun = response;
    return this.emit('request', request, response);
  }

  private awaitTurn(pipeline: Pipeline, socket: Socket, before: ServerResponse): void {
    before.once('close', () => this.next(pipeline, socket));
  }

  private next(pipeline: Pipeline, socket: Socket): void {
    const next = pipeline.waiting.shift();
    if (next === undefined) return;
    // The client has left, or the previous answer was the last one of its connection.
    if (!socket.writable) {
      pipeline.waiting = [];
      return;
    }
    if (pipeline.waiting.length > 0) this.awaitTurn(pipeline, socket, next.response);
    else socket.resume();
    this.begin(pipeline, next.request, next.response);
  }
}

function lastOf({ begun, waiting }: Pipeline): ServerResponse | null {
  return waiting.at(-1)?.response ?? (begun.closed ? null : begun);
}

function isTooLong(waiting: readonly Waiting[], socket: Socket): boolean {
  const bytesBefore = waiting[0]?.bytesRead ?? socket.bytesRead;
  return waiting.length > MOST_WAITING || socket.bytesRead - bytesBefore > MOST_BYTES;
}
