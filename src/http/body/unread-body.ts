import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds a client has to take its answer before the connection is cut. */
const LINGER = 1000;

/** Whether the request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || announcedLength(headers['content-length']) > 0;
}

export function announcedLength(contentLength: string | undefined): number {
  return contentLength === undefined ? 0 : Number(contentLength);
}

export function hasUnreadBody(request: IncomingMessage): boolean {
  return !request.readableEnded && announcesBody(request);
}

/**
 * Ends the connection after the answer without taking in the rest of the body, which Node would otherwise swallow to the
 * last byte. Closing at once would reset the connection and could cost the client the answer, so our side is closed
 * first, nothing more is read, and the socket goes when the client has had time to see the answer.
 */
export function closeInsteadOfReading(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  response.setHeader('Connection', 'close');
  // Marks the body as taken care of, or Node would discard it to the end; the full buffer stops the reading.
  request.read(0);
  request.pause();
  const destroySoon = socket.destroySoon.bind(socket);
  // Node calls this once the answer is written.
  socket.destroySoon = () => (request.complete ? destroySoon() : linger(socket));
}

function linger(socket: Socket): void {
  socket.end();
  // Where part of the body had arrived before, Node has begun to discard the rest: it resumes the socket in this turn.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.destroy(), LINGER).unref();
}
