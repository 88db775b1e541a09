import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy between the service and a server that can make the server unreachable. */
export interface TcpGate {
  readonly port: number;
  /** Ends the connections and refuses new ones. */
  cut(): void;
  /** Lets nothing through, silently, as a broken network does. */
  hold(): void;
  /**
   * Holds back what a client sends from the given text on, on its connection only. Resolves once that text has arrived.
   */
  holdAt(text: string): Promise<void>;
  /**
   * Loses what a client sends, or what it is sent, from the given text of the client on, and keeps its connection open
   * whatever the server does: as a proxy that has lost its other side. Resolves once that text has arrived.
   */
  lose(whose: 'text' | 'answer', text: string): Promise<void>;
  /** Lets everything through with a delay in milliseconds. */
  slow(milliseconds: number): void;
  /** Leads new connections to another port, as a host name or a balancer does; open ones stay as they are. */
  aim(port: number): void;
  /** Resolves once so many more connections have come. */
  connected(count: number): Promise<void>;
  /** Lets everything through again. */
  open(): void;
  close(): Promise<void>;
}

export async function openTcpGate(host: string, port: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHeld = false;
  let delay = 0;
  let aim = port;
  let awaited: { readonly text: string; readonly seen: (client: Socket, target: Socket) => void } | null = null;
  /** Sockets whose data no longer passes. */
  const held = new Set<Socket>();
  const keptOpen = new Set<Socket>();
  const arrivals = new EventEmitter();
  const server = createServer((client) => {
    const target = connect(aim, host);
    arrivals.emit('connection');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      const line = new Line((chunk) => to.writable && to.write(chunk));
      from.on('data', (chunk) => {
        if (isHeld) return;
        if (from === client && awaited !== null && chunk.includes(awaited.text)) {
          awaited.seen(client, target);
          awaited = null;
        }
        if (held.has(from)) return;
        line.send(chunk, delay);
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (!keptOpen.has(to)) to.destroy();
      });
    }
    if (isCut) client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
      endAll();
    },
    hold: () => {
      isHeld = true;
    },
    holdAt: (text) =>
      new Promise((resolve) => {
        const seen = (client: Socket): void => {
          held.add(client);
          resolve();
        };
        awaited = { text, seen };
      }),
    lose: (whose, text) =>
      new Promise((resolve) => {
        const seen = (client: Socket, target: Socket): void => {
          held.add(whose === 'text' ? client : target);
          keptOpen.add(client);
          resolve();
        };
        awaited = { text, seen };
      }),
    slow: (milliseconds) => {
      delay = milliseconds;
    },
    aim: (other) => {
      aim = other;
    },
    connected: async (count) => {
      for (let left = count; left > 0; left -= 1) await once(arrivals, 'connection');
    },
    open: () => {
      isCut = false;
      isHeld = false;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      endAll();
      await closed;
    },
  };
}

/** One direction of a connection: parts arrive in the order in which they were sent, however long each is delayed. */
class Line {
  private readonly waiting: { readonly chunk: Buffer; readonly due: number }[] = [];

  constructor(private readonly deliver: (chunk: Buffer) => unknown) {}

  /** @param delay in milliseconds. */
  send(chunk: Buffer, delay: number): void {
    this.waiting.push({ chunk, due: performance.now() + delay });
    if (this.waiting.length === 1) this.deliverDue();
  }

  private deliverDue(): void {
    for (let [first] = this.waiting; first !== undefined; [first] = this.waiting) {
      const left = first.due - performance.now();
      if (left > 0) {
        setTimeout(() => this.deliverDue(), left);
        return;
      }
      this.waiting.shift();
      this.deliver(first.chunk);
    }
  }
}

/** COMMIT as a client of PostgreSQL sends it; the word alone is also in READ COMMITTED. */
export const COMMIT = 'COMMIT\0';

/** A gate in front of a PostgreSQL server, and the URL of the database through it. */
export async function openDatabaseGate(databaseUrl: string): Promise<{ readonly gate: TcpGate; readonly url: string }> {
  const url = new URL(databaseUrl);
  const gate = await openTcpGate(url.hostname, Number(url.port));
  url.port = String(gate.port);
  return { gate, url: url.href };
}
