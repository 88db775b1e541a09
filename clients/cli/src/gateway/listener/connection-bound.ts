import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { countedClient, unmapAddress } from '../../service-rules/ip-address.js';

/** A connection of a client. */
interface ClientConnection {
  /** The socket of the connection; with TLS, the socket above it, on which requests arrive. */
  socket: Socket;
}

/** The connections of one client by their names, the oldest first. */
type Connections = Map<string, ClientConnection>;

/**
 * Bounds the connections of a server. Beyond the bound, a new connection replaces one without a request: the oldest of
 * the client that has most, so that clients that send nothing keep nobody out. If every connection has a request, the
 * new one ends.
 */
export class ConnectionBound {
  private readonly holders = new Map<string, Connections>();
  private count = 0;

  private constructor(
    server: Server,
    private readonly isServing: (socket: Socket) => boolean,
    private readonly maxConnections: number,
  ) {
    server.on('connection', (socket: Socket) => this.admit(socket));
  }

  /** Bounds all connections. @param isServing whether a connection has a request that has not ended */
  static ofAll(server: Server, isServing: (socket: Socket) => boolean, maxConnections: number): void {
    const bound = new ConnectionBound(server, isServing, maxConnections);
    server.on('secureConnection', (socket: Socket) => {
      const connection = bound.holders.get(clientOf(socket))?.get(nameOf(socket));
      if (connection !== undefined) connection.socket = socket;
    });
  }

  /** Bounds the connections of a server with TLS whose handshake has not ended: each takes twice as much memory. */
  static ofHandshakes(server: Server, maxHandshakes: number): void {
    const bound = new ConnectionBound(server, () => false, maxHandshakes);
    server.on('secureConnection', (socket: Socket) => bound.remove(clientOf(socket), nameOf(socket)));
  }

  private admit(socket: Socket): void {
    if (this.count >= this.maxConnections && !this.endIdle()) {
      socket.destroy();
      return;
    }
    const [client, name, connection] = [clientOf(socket), nameOf(socket), { socket }];
    // A connection with the same name has ended unnoticed: a reset one has no address any more, or the port is in use
    // again.
    this.remove(client, name);
    this.holders.set(client, (this.holders.get(client) ?? new Map()).set(name, connection));
    this.count += 1;
    socket.once('close', () => {
      if (this.holders.get(client)?.get(name) === connection) this.remove(client, name);
    });
  }

  private remove(client: string, name: string): void {
    const connections = this.holders.get(client);
    if (connections?.delete(name) !== true) return;
    this.count -= 1;
    if (connections.size === 0) this.holders.delete(client);
  }

  /** Ends a connection without a request. Returns false if each connection has one. */
  private endIdle(): boolean {
    const holders = [...this.holders].sort(([, one], [, other]) => other.size - one.size);
    for (const [client, connections] of holders) {
      for (const [name, connection] of connections) {
        if (this.isServing(connection.socket)) continue;
        this.remove(client, name);
        connection.socket.destroy();
        return true;
      }
    }
    return false;
  }
}

function clientOf({ remoteAddress = '' }: Socket): string {
  return countedClient(unmapAddress(remoteAddress));
}

/** Returns a name that tells the connections of one client apart. */
function nameOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${String(remoteAddress)} ${String(remotePort)} ${String(localAddress)}`;
}
