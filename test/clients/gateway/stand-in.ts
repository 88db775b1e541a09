import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as an upstream got it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answering = (request: ReceivedRequest, response: ServerResponse, message: IncomingMessage) => void;

/** An upstream that notes what it gets, and answers as a test says. */
export interface StandIn {
  readonly url: string;
  readonly server: Server;
  /** Every request so far, in order. */
  readonly received: ReceivedRequest[];
  /** Requests whose path begins so. */
  below(path: string): ReceivedRequest[];
  close(): Promise<void>;
}

export async function startStandIn(answer: Answering): Promise<StandIn> {
  const received: ReceivedRequest[] = [];
  const server = createServer((message, response) => {
    void buffer(message).then((bytes) => {
      const { method = '', url = '', headers } = message;
      const request = { method, url, headers, body: bytes.toString('utf8') };
      received.push(request);
      answer(request, response, message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    received,
    below: (path) => received.filter(({ url }) => url.startsWith(path)),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
