import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Answer = (response: ServerResponse, id: unknown) => unknown;

/** Maps names of tools to what becomes of the answer to their calls. */
const FATES: Readonly<Record<string, Answer>> = {
  answered: (response, id) => json(response, { id, result: RESULT }),
  streamed: (response, id) => {
    const data = JSON.stringify({ jsonrpc: '2.0', id, result: RESULT });
    stream(response).end(`data: ${data}\n\n`);
  },
  refused: (response, id) => json(response, { id, error: { code: -32_000, message: 'The till is empty.' } }),
  forbidden: (response) => response.writeHead(403).end('Not you.'),
  scoped: (response) => response.writeHead(403, { 'WWW-Authenticate': NEEDS_SCOPE }).end('Not with this token.'),
  cut: (response) => stream(response).write(': soon\n\n', () => response.destroy()),
  ended: (response) => stream(response).end(': over\n\n'),
  flooded: (response) => {
    // Without a length, the stream ends with its connection, while much of it is not read.
    response.useChunkedEncodingByDefault = false;
    response.setHeader('Connection', 'close');
    stream(response).write(`data: ${NOTIFICATION}\n\n`.repeat(FLOOD), () => setTimeout(() => response.end(), 5));
  },
  accepted: (response) => response.writeHead(202).end(),
  mistaken: (response) => json(response, { id: 'another', result: RESULT }),
  overdue: (response) => response.writeHead(504).end('The gateway has waited long enough.'),
  hurried: (response) => response.writeHead(408).end('The request took too long.'),
  dropped: (response) => response.writeHead(499).end('The client has closed the connection.'),
  moved: (response) => response.writeHead(300).end('There are several.'),
  reset: (response) => response.destroy(),
  malformed: (response, id) => json(response, { id, result: { content: 'done' } }),
};
const NEEDS_SCOPE = 'Bearer error="insufficient_scope", scope="till"';
const NOTIFICATION = JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'x' },
});
const FLOOD = 2_000;
const RESULT = { content: [{ type: 'text', text: 'done' }] };

/** A server over HTTP whose answers get lost in many ways. Its tools are named by them. */
export async function startAnswerlessServer(): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    void text(request).then((body) => answer(response, body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => closed(server) };
}

function answer(response: ServerResponse, body: string): unknown {
  if (body === '') return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'tools/call') return FATES[params.name]?.(response, id);
  if (method !== 'initialize') return json(response, { id, error: { code: -32_601, message: 'No such method.' } });
  const { protocolVersion } = params;
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } };
  return json(response, { id, result });
}

function json(response: ServerResponse, message: object): unknown {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  return response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function stream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'Content-Type': 'text/event-stream' });
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  const closing = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closing;
}
