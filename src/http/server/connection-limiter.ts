import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countedClient, unmapped } from '../request/arrival';
import { pendingOn, TURN } from './http-server';

/**
 * The share of all connections that one client may hold unless a setting says otherwise, and the share kept free of
 * idle ones.
 */
const PART = 1 / 5;
/** One for requests, and one to check whether they are answered. */
const LEAST_PER_CLIENT = 2;

/** How many connections may be held. */
export interface ConnectionLimits {
  readonly most: number;
  /** Null: a fifth of all. */
  readonly mostPerClient: number | null;
  /** Whether it is the address of a proxy that forwards the requests of many clients. */
  isProxy(address: string): boolean;
}

/** A client or a proxy, with its connections, the oldest first. */
interface Holder {
  readonly name: string;
  readonly most: number;
  readonly connections: Set<Socket>;
}

/**
 * Limits the connections of a server. A connection beyond its client's limit is closed on arrival. If all are in use,
 * an idle connection of the client that has most is closed instead, so that clients with few connections get through.
 */
export class ConnectionLimiter {
  private readonly holders = new Map<string, Holder>();
  private readonly holderOf = new WeakMap<Socket, Holder>();
  private readonly mostPerClient: number;
  private count = 0;

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    this.mostPerClient = limits.mostPerClient ?? Math.max(LEAST_PER_CLIENT, partOf(limits.most));
    server.on('connection', (socket: Socket) => {
      if (!this.admit(socket)) socket.destroy();
    });
    server.prependListener(TURN, ({ socket }: IncomingMessage, response: ServerResponse) => {
      if (this.isScarceFor(socket)) response.setHeader('Connection', 'close');
    });
  }

  private admit(socket: Socket): boolean {
    const holder = this.holderAt(unmapped(socket.remoteAddress ?? ''));
    if (holder.connections.size >= holder.most || !this.makeRoom()) return false;
    this.holders.set(holder.name, holder);
    this.holderOf.set(socket, holder);
    holder.connections.add(socket);
    this.count += 1;
    socket.on('close', () => this.leave(socket, holder));
    return true;
  }

  private leave(socket: Socket, { name, connections }: Holder): void {
    if (!connections.delete(socket)) return;
    this.count -= 1;
    if (connections.size === 0) this.holders.delete(name);
  }

  private makeRoom(): boolean {
    if (this.count < this.limits.most) return true;
    const [socket, holder] = this.oldestIdleOfLargest() ?? [];
    if (socket === undefined || holder === undefined) return false;
    this.leave(socket, holder);
    socket.destroy();
    return true;
  }

  private oldestIdleOfLargest(): readonly [Socket, Holder] | undefined {
    let found: readonly [Socket, Holder] | undefined;
    for (const holder of this.holders.values()) {
      if (holder.connections.size <= (found?.[1].connections.size ?? 0)) continue;
      const idle = this.oldestIdleOf(holder);
      if (idle !== undefined) found = [idle, holder];
    }
    return found;
  }

  private oldestIdleOf({ connections }: Holder): Socket | undefined {
    for (const socket of connections) if (pendingOn(socket) === null) return socket;
    return undefined;
  }

  /** Whether a connection should be closed after its answer. */
  private isScarceFor(socket: Socket): boolean {
    const holder = this.holderOf.get(socket);
    const isOwnScarce = holder !== undefined && holder.most - holder.connections.size < partOf(holder.most);
    return isOwnScarce || this.limits.most - this.count < partOf(this.limits.most);
  }

  private holderAt(address: string): Holder {
    const isProxy = this.limits.isProxy(address);
    const name = isProxy ? address : countedClient(address);
    const most = isProxy ? Infinity : this.mostPerClient;
    return this.holders.get(name) ?? { name, most, connections: new Set() };
  }
}

function partOf(most: number): number {
  return Math.floor(most * PART);
}
