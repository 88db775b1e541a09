import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between the service and a server, and takes the server away when told to. */
export interface TcpGate {
  readonly port: number;
  /** Ends the connections and refuses new ones. */
  cut(): void;
  /** Lets nothing through and says nothing, as a broken network does. */
  hold(): void;
  /** Lets everything through again. */
  open(): void;
  close(): Promise<void>;
}

export async function openTcpGate(host: string, port: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHeld = false;
  const server = createServer((client) => {
    const target = connect(port, host);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => (isHeld ? undefined : to.write(chunk)));
      from.on('error', () => from.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
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
