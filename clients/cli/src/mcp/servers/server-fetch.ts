import { Agent, buildConnector, type Client, Pool } from 'undici';
import { Connection } from '../../connection.js';

const connector = buildConnector({});

const dispatcher = new Agent({
  factory: (origin: string | URL, options: object) =>
    new Pool(origin, {
      ...options,
      factory: (target: URL, clientOptions: Client.Options) => Connection.open(target, clientOptions, connector),
    }),
});

/** Does what `fetch` does, for a server that may end its connection at any time, also while its answer is not read. */
export const serverFetch: typeof fetch = (target, init) => fetch(target, { ...init, dispatcher } as RequestInit);
