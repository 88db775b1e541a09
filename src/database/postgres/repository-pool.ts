import type { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { type FoundServer, primaryOf, SELECT_PRIMARY } from './server-requirements';
import type { WriterServer } from './writer-server';

/** What TypeORM's own pool is made with, so that its sessions, too, are on the writer's server. */
export interface RepositoryPool extends ClientConfig {
  /** Called for each new session before it is used; what it throws refuses the session. */
  onConnect(client: Client): Promise<void>;
}

export function repositoryPool(config: ClientConfig, server: WriterServer): RepositoryPool {
  const sockets = new Set<Socket>();
  // The pool replaces a session that it has lost.
  server.onMoved(() => sockets.forEach((socket) => socket.destroy()));
  return {
    ...config,
    stream: () => {
      const socket = server.reach.socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    onConnect: async (client) => {
      const { rows } = await client.query<FoundServer>(SELECT_PRIMARY);
      server.require(primaryOf(rows[0]));
    },
  };
}
