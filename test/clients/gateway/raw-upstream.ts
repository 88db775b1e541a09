import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';

type Answer = (socket: Socket, request: string) => unknown;

/** An upstream that shows each byte that it gets, and answers as a test says. */
export class RawUpstream {
  /** One text for each request, as Latin-1. */
  readonly requests: string[] = [];
  /** The connections on which they came. */
  readonly sockets: Socket[] = [];
  /** All connections, with those on which nothing came. */
  readonly connections = new Set<Socket>();
  /** The answers to the next requests; the last one stays. */
  answers: Answer[] = [respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')];
  onConnection: (socket: Socket) => unknown = () => undefined;
  private readonly arrivals = new EventEmitter();

  private constructor(private readonly server: Server) {}

  static async open(): Promise<RawUpstream> {
    const server = createServer();
    const upstream = new RawUpstream(server);
    server.on('connection', (socket) => upstream.read(socket));
    await once(server.listen(0, 'localhost'), 'listening');
    return upstream;
  }

  static async openTls(server: TlsServer): Promise<RawUpstream> {
    const upstream = new RawUpstream(server);
    server.on('secureConnection', (socket) => upstream.read(socket));
    await once(server.listen(0, 'localhost'), 'listening');
    return upstream;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when so many requests have come. */
  async received(count: number): Promise<void> {
    while (this.requests.length < count) await once(this.arrivals, 'request');
  }

  /** Resolves when all connections have ended. */
  async disconnected(): Promise<void> {
    for (const socket of this.connections) if (!socket.closed) await once(socket, 'close');
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.connections.forEach((socket) => socket.destroy());
    await closed;
  }

  private read(socket: Socket): void {
    this.connections.add(socket);
    this.onConnection(socket);
    let text = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const length = requestLength(text);
      if (length === null || text.length < length) return;
      const request = text.slice(0, length);
      text = text.slice(length);
      this.requests.push(request);
      this.sockets.push(socket);
      const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      answer?.(socket, request);
      this.arrivals.emit('request');
    });
  }
}

/** Writes these bytes. */
export function respond(text: string): Answer {
  return (socket) => socket.write(Buffer.from(text, 'latin1'));
}

/** Length of the first request with its body; null while its head is not whole. */
function requestLength(text: string): number | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end)) ?? [];
  return end + 4 + Number(length);
}
