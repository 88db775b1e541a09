import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A header with a value of its own in each request. */
  readonly freshHeader?: string;
  /** A text in the body with a value of its own in each request. */
  readonly freshText?: string;
}

/** The milliseconds of each answer, and the number of answers without a status 2xx. */
export interface Answers {
  readonly times: readonly number[];
  readonly refused: number;
}

/**
 * Sends the requests over and over for a while, one at a time on each kept connection. It shares the processors with
 * the server that it measures, so it reads of an answer only what it needs: the status, and where the answer ends.
 */
export async function generateLoad(
  url: string,
  requests: readonly LoadRequest[],
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<Answers> {
  const { hostname, port } = new URL(url);
  const messages = requests.map((request) => messagesOf(request, hostname));
  const end = performance.now() + seconds * 1000;
  const times: number[] = [];
  let refused = 0;
  const keepSending = async (): Promise<void> => {
    const connection = await Connection.open(hostname, Number(port));
    try {
      for (let turn = 0; performance.now() < end; turn += 1) {
        const message = messages[turn % messages.length];
        if (message === undefined) throw new Error('There is nothing to send.');
        const begun = performance.now();
        const status = await connection.exchange(message());
        times.push(performance.now() - begun);
        if (status < 200 || status > 299) refused += 1;
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: connections }, keepSending));
  return { times, refused };
}

/** Returns a function that makes the bytes of a request. It makes them anew only if they differ each time. */
function messagesOf(
  { method, path, body = '', headers = {}, freshHeader, freshText }: LoadRequest,
  host: string,
): () => Buffer {
  const length = Buffer.byteLength(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(length > 0 ? [`Content-Length: ${length}`] : []),
  ];
  const message = (more: readonly string[]): Buffer => Buffer.from([...lines, ...more, '', body].join('\r\n'));
  if (freshHeader !== undefined) return () => message([`${freshHeader}: ${randomUUID()}`]);
  const same = message([]);
  if (freshText !== undefined) {
    const text = same.toString();
    return () => Buffer.from(text.replaceAll(freshText, randomUUID()));
  }
  return () => same;
}

interface PendingRequest {
  readonly resolve: (status: number) => void;
  readonly reject: (error: Error) => void;
}

class Connection {
  private received: Buffer = Buffer.alloc(0);
  private waiting: PendingRequest | null = null;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (part) => this.receive(part));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('The server has closed the connection.')));
  }

  static open(host: string, port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Connection(socket)));
    });
  }

  /** Sends a request; returns the status of the answer once it is complete. */
  exchange(message: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.write(message);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(part: Buffer): void {
    this.received = this.received.length === 0 ? part : Buffer.concat([this.received, part]);
    const status = statusOfWhole(this.received);
    if (status === null) return;
    this.received = Buffer.alloc(0);
    this.waiting?.resolve(status);
    this.waiting = null;
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = null;
  }
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Returns the status of a complete answer; null if it is not complete yet. */
function statusOfWhole(received: Buffer): number | null {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = received.toString('latin1', 0, headEnd);
  const [, length] = /^content-length: *(\d+)/im.exec(head) ?? [];
  const isWhole =
    length === undefined
      ? received.subarray(-LAST_CHUNK.length).toString('latin1') === LAST_CHUNK
      : received.length === headEnd + HEAD_END.length + Number(length);
  return isWhole ? Number(head.slice(9, 12)) : null;
}
