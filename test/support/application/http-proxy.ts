import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A proxy passes a request on, at once or later, loses the answer of the service, or answers itself. */
export type Treatment = 'pass' | Promise<'pass'> | 'lose the answer' | ((response: ServerResponse) => void);

/** A request as a proxy received it. */
export interface ProxiedRequest {
  readonly at: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly idempotencyKey: string | undefined;
}

/** A proxy in front of a service. */
export interface HttpProxy {
  readonly url: string;
  readonly received: ProxiedRequest[];
  /** Treatments of the next requests; later requests pass. */
  readonly treatments: Treatment[];
  close(): void;
}

const PASSED = ['authorization', 'content-type', 'if-match', 'idempotency-key'];

export async function openHttpProxy(target: string): Promise<HttpProxy> {
  const received: ProxiedRequest[] = [];
  const treatments: Treatment[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = request;
    const key = headers['idempotency-key'];
    received.push({ at: Date.now(), method, path, idempotencyKey: typeof key === 'string' ? key : undefined });
    const body = await buffer(request);
    const treatment = await (treatments.shift() ?? 'pass');
    if (typeof treatment === 'function') treatment(response);
    else await forward(target + path, request, body, treatment, response);
  };
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ received, treatments },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function forward(
  url: string,
  { method = '', headers: requestHeaders }: IncomingMessage,
  body: Buffer,
  treatment: 'pass' | 'lose the answer',
  response: ServerResponse,
): Promise<void> {
  const headers = Object.fromEntries(
    PASSED.flatMap((name) => (requestHeaders[name] === undefined ? [] : [[name, String(requestHeaders[name])]])),
  );
  const answer = await fetch(url, { method, headers, ...(body.length > 0 ? { body } : {}) });
  const text = await answer.text();
  if (treatment === 'lose the answer') response.destroy();
  else response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(text);
}
