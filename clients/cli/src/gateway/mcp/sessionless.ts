import { unavailable } from '../calls/refusal.js';
import { mostFirst } from './most-first.js';

/** The connection of a caller that speaks the protocol without handshake. */
export interface Sessionless {
  readonly fetch: (request: Request, message: unknown) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** A caller that needs a connection. */
export interface ConnectionUser {
  /** Equal for the requests that share a connection. */
  readonly key: string;
  readonly agentId: string;
  readonly open: () => Promise<Sessionless>;
}

export interface ConnectionBounds {
  readonly ofOneAgent: number;
  readonly all: number;
}

interface Connection {
  readonly agentId: string;
  readonly opening: Promise<Sessionless>;
  /** Number of the requests that it serves now. */
  requests: number;
}

type Entry = readonly [string, Connection];

function agentOf([, { agentId }]: Entry): string {
  return agentId;
}

/** Keeps the connections of callers that speak the protocol without handshake, for their next requests. */
export class SessionlessConnections {
  /** The connections, the most recently used last. */
  private readonly connections = new Map<string, Connection>();

  constructor(private readonly bounds: ConnectionBounds) {}

  /**
   * Serves a request by the connection of its caller, which stays open meanwhile.
   * @throws Refusal 503 if one more connection would exceed a bound, and none can end for it; errors of `open`
   */
  async during<Result>(user: ConnectionUser, serve: (sessionless: Sessionless) => Promise<Result>): Promise<Result> {
    const { key } = user;
    const connection = this.connections.get(key) ?? this.begin(user);
    this.connections.delete(key);
    this.connections.set(key, connection);
    connection.requests += 1;
    try {
      return await serve(await connection.opening);
    } finally {
      connection.requests -= 1;
    }
  }

  async close(): Promise<void> {
    const all = [...this.connections.values()];
    this.connections.clear();
    await Promise.all(all.map(end));
  }

  private begin({ key, agentId, open }: ConnectionUser): Connection {
    this.makeRoom(agentId);
    const connection = { agentId, opening: open(), requests: 0 };
    connection.opening.catch(() => {
      if (this.connections.get(key) === connection) this.connections.delete(key);
    });
    return connection;
  }

  /** Ends one connection for another one of the agent, if there are as many as there can be. @throws Refusal 503 */
  private makeRoom(agentId: string): void {
    const own = this.entriesOf(agentId);
    const isFullForAgent = own.length >= this.bounds.ofOneAgent;
    if (!isFullForAgent && this.connections.size < this.bounds.all) return;
    const idle = (isFullForAgent ? own : mostFirst([...this.connections], agentOf)).find(
      ([, { requests }]) => requests === 0,
    );
    if (idle === undefined) throw unavailable('There are as many connections as there can be.');
    const [key, connection] = idle;
    this.connections.delete(key);
    void end(connection);
  }

  private entriesOf(agentId: string): Entry[] {
    return [...this.connections].filter(([, connection]) => connection.agentId === agentId);
  }
}

/** Closes a connection; one that cannot be opened has nothing to close. */
async function end({ opening }: Connection): Promise<void> {
  await opening.then(
    (sessionless) => sessionless.close(),
    () => undefined,
  );
}
