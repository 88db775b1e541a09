import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Ends a connection so that the client sees that the answer is not whole. */
export function resetConnection(socket: Socket | null): void {
  if (socket === null || socket.destroyed) return;
  // Only TCP can be reset; TLS ends without its closing message.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
