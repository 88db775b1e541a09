import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Knows of each connection of a server whether somebody waits for an answer on it. */
export class Turns {
  private readonly latest = new WeakMap<Duplex, ServerResponse>();

  constructor(server: Server) {
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) =>
      this.latest.set(socket, response),
    );
  }

  /** The answer that is not all out yet; null: there is none. */
  pendingOn(socket: Duplex): ServerResponse | null {
    const latest = this.latest.get(socket);
    return latest === undefined || latest.writableFinished ? null : latest;
  }
}
