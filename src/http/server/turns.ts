import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Most requests that may wait on a connection behind the one being answered. */
const MOST_WAITING = 100;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests of one connection. */
interface Turns {
  /** The answer to the request that came last. */
  latest: ServerResponse;
  waiting: number;
}

const turnsOf = new WeakMap<Duplex, Turns>();

/**
 * A listener that serves the requests of each connection one at a time: the next begins when the client has the answer
 * to the previous one. Node.js would start all requests that a client sends at once, and buffer the answers it does not
 * read. While requests wait, no more are read.
 */
export function inTurn(serve: Serve): Serve {
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
  if (turns.waiting > MOST_WAITING) socket.destroy();
  else socket.pause();
  const begin = (): void => {
    turns.waiting -= 1;
    // Otherwise the client has left, or the previous answer was the last one of its connection.
    if (!socket.writable) return;
    if (turns.waiting === 0) socket.resume();
    serve();
  };
  previous.once('close', AsyncResource.bind(begin));
}

/** The last answer still to come on a connection; null if there is none. */
export function pendingOn(socket: Duplex): ServerResponse | null {
  const latest = turnsOf.get(socket)?.latest;
  return latest === undefined || latest.closed ? null : latest;
}

/** Whether an answer was sent before the body of its request had arrived. */
export function isAheadOfBody(socket: Duplex): boolean {
  const latest = turnsOf.get(socket)?.latest;
  return latest !== undefined && latest.headersSent && !latest.req.complete;
}
