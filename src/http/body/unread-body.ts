import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { announcesBody } from './body-reader';

/** Milliseconds a client has to read its answer before the connection is cut. */
const LINGER = 1000;

export function hasUnreadBody(request: IncomingMessage): boolean {
  return !request.readableEnded && announcesBody(request);
}

/**
 * Ends the connection after the answer without receiving the rest of the body, which Node would otherwise read to the
 * last byte. Closing at once would reset the connection and could cost the client the answer. So our side is closed
 * first, nothing more is read, and the socket is destroyed after the client has had time to read the answer.
 */
export function closeInsteadOfReading(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  response.setHeader('Connection', 'close');
  // Marks the body as being read, or Node would drain it; the full buffer then stops the reading.
  request.read(0);
  request.pause();
  const destroySoon = socket.destroySoon.bind(socket);
  // Node calls this once the answer is written.
  socket.destroySoon = () => (request.complete ? destroySoon() : linger(socket));
}

function linger(socket: Socket): void {
  socket.end();
  // If part of the body had arrived before, Node has begun to discard the rest: it resumes the socket in this turn.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.destroy(), LINGER).unref();
}
