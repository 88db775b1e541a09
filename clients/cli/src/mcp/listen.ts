import {
  hostHeaderValidation,
  type NodeIncomingMessageLike,
  originValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isInitializeRequest,
  isJsonContentType,
  isLegacyRequest,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { printError } from '../output.js';
import { SettingsError } from '../settings.js';
import { parsed } from './servers/messages.js';
import type { ClientLink } from './servers/governed-server.js';
import type { MakeServer } from './proxy.js';
import { readableRequest } from './readable-request.js';
import type { Servers } from './servers/servers.js';

/** What is being served, whichever way. */
export interface Served {
  readonly close: () => Promise<void>;
}

/** Where a proxy listens, and the host names under which it may be called. */
export interface Place {
  readonly address: string;
  readonly port: number;
  readonly names: readonly string[];
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Of requests that are not answered yet. */
  readonly ids: Set<unknown>;
}

/** Where a proxy may listen without being asked to: whoever reaches it acts as its agent. */
const THIS_MACHINE = /^(?:127\.|::1(?:%|$))/;

const LOOPBACK = '127.0.0.1';
const LOOPBACK_NAMES = ['localhost', LOOPBACK, '[::1]'];
/** The one path that is served. */
const PATH = '/mcp';
/** Sessions of clients with a handshake, each with its connections to servers; beyond that, the one that has been idle longest is ended. */
const MOST_SESSIONS = 100;
/** Bytes of a request, which the SDK takes as well. */
const LARGEST_REQUEST = 4 * 2 ** 20;

/**
 * A port without an address is on 127.0.0.1.
 * @param isShared whether others than this machine may reach it
 * @throws SettingsError if it is neither.
 */
export function placeOf(text: string, otherNames: readonly string[], isShared: boolean): Place {
  const [, bracketed, plain, digits = text] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d+)$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? LOOPBACK;
  const port = Number(digits);
  if (!/^\d{1,5}$/.test(digits) || port > 65_535 || isIP(address) === 0) {
    throw new SettingsError(`--listen is a port, or an address and a port such as 10.0.0.5:8080; it was ${text}.`);
  }
  if (!isShared && !THIS_MACHINE.test(address))
    throw new SettingsError(
      `Whoever reaches ${address} would act as this agent. To serve more than this machine, add --allow-shared.`,
    );
  // Names have no zone (`%eth0`), which means something on this machine only.
  const name = hostName(address.replace(/%.*$/, ''));
  const own = LOOPBACK_NAMES.includes(name) ? LOOPBACK_NAMES : [name];
  return { address, port, names: [...own, ...otherNames.map(hostName)] };
}

/** As it is compared with what clients send: in lower case, and an IPv6 address in its one short form. */
function hostName(text: string): string {
  const host = isIP(text) === 6 ? `[${text}]` : text;
  if (!/[/?#@\\]/.test(host) && URL.canParse(`http://${host}`)) return new URL(`http://${host}`).hostname;
  throw new SettingsError(`--host is a host name, such as tools.example.com; it was ${text}.`);
}

/** Serves both protocols at `/mcp`: with a handshake in sessions, and without one request by request. */
export async function overHttp(make: MakeServer, first: Servers, { address, port, names }: Place): Promise<Served> {
  const sessions = new Sessions(make, first);
  const modern = createMcpHandler(() => make(null, first), { legacy: 'reject', responseMode: 'sse' });
  first.linkTo(withoutSession((kind) => modern.notify[`${kind}Changed`]()));
  const handle = toNodeHandler({
    fetch: async (request, options) => {
      if (new URL(request.url).pathname !== PATH) return refusal(404, `It is served at ${PATH}.`);
      if (request.method !== 'POST') return sessions.answer(request);
      if (!isJsonContentType(request.headers.get('Content-Type'))) return refusal(415, 'It is not JSON.');
      const readable = await readableRequest(request);
      return (await isLegacyRequest(readable)) ? sessions.answer(readable) : modern.fetch(readable, options);
    },
  });
  // A web page must not reach a local server through a host name of its own (DNS rebinding).
  const isKnownHost = hostHeaderValidation([...names]);
  const isKnownOrigin = originValidation([...names]);
  const server = createServer((request, response) => {
    if (!isKnownHost(request, response) || !isKnownOrigin(request, response)) return;
    if (Number(request.headers['content-length']) > LARGEST_REQUEST) refuseLarge(request, response);
    else void handle(request as NodeIncomingMessageLike, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new SettingsError(`It cannot listen on ${address}:${port}: ${error.message}`));
    });
    server.listen(port, address, resolve);
  });
  const bound = server.address();
  const actual = typeof bound === 'object' && bound !== null ? bound.port : port;
  const host = isIP(address) === 6 ? `[${address}]` : address;
  printError(`Listening on http://${host}:${actual}${PATH}. Whoever reaches it acts as the agent of this key.`);
  return {
    close: async () => {
      server.close();
      await modern.close();
      await sessions.close();
      server.closeAllConnections();
    },
  };
}

/** The clients of the protocol with a handshake: each has a session, which cancellations, questions and progress go through. */
class Sessions {
  private readonly open = new Map<string, Session>();

  constructor(
    private readonly make: MakeServer,
    private readonly first: Servers,
  ) {}

  async answer(request: Request): Promise<Response> {
    const id = request.headers.get('Mcp-Session-Id');
    if (id !== null) {
      const session = this.open.get(id);
      if (session === undefined) return refusal(404, 'There is no such session.');
      this.open.delete(id);
      this.open.set(id, session);
      if (request.method !== 'POST') return session.transport.handleRequest(request);
      const text = await request.clone().text();
      const body = parsed(text);
      const ids = requestIdsIn(body);
      // The SDK would send the answer to one request as that to the other.
      if (ids.some((id) => session.ids.has(id))) return refusal(400, 'The id of a request is in use by another.');
      for (const id of ids) session.ids.add(id);
      // It gets no answer.
      session.ids.delete(cancelledIdIn(body));
      const response = await session.transport.handleRequest(request);
      // A request that is refused ends here.
      if (!response.ok) for (const id of ids) session.ids.delete(id);
      return response;
    }
    const body: unknown = request.method === 'POST' ? await request.json().catch(() => null) : null;
    if (!isInitializeRequest(body)) return refusal(400, 'A session begins with initialize.');
    return this.begin(request, body);
  }

  async close(): Promise<void> {
    await Promise.all([...this.open.values()].map(({ server }) => server.close()));
  }

  private async begin(request: Request, parsedBody: unknown): Promise<Response> {
    const servers = this.first.another();
    const server = this.make(randomUUID(), servers);
    const ids = new Set<unknown>();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.open.set(id, { transport, server, ids });
        const [oldest] = this.open;
        if (this.open.size > MOST_SESSIONS && oldest !== undefined) void oldest[1].server.close();
      },
    });
    await server.connect(transport);
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      if ('id' in message && !('method' in message)) ids.delete(message.id);
      return send(message, options);
    };
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) this.open.delete(transport.sessionId);
      void servers.close();
    };
    return transport.handleRequest(request, { parsedBody });
  }
}

/** Requests without a session have no client that could be asked. */
function withoutSession(changed: ClientLink['changed']): ClientLink {
  const refuse = (): never => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Without a session there is nobody to ask.');
  };
  return { changed, notified: () => undefined, roots: refuse, elicit: refuse };
}

function cancelledIdIn(message: unknown): unknown {
  const { method, params } = Object(message) as { method?: unknown; params?: unknown };
  return method === 'notifications/cancelled' ? (Object(params) as { requestId?: unknown }).requestId : undefined;
}

function requestIdsIn(body: unknown): unknown[] {
  return [body].flat().flatMap((message) => {
    const { id, method } = Object(message) as { id?: unknown; method?: unknown };
    return id === undefined || method === undefined ? [] : [id];
  });
}

/** All of it is read, and the connection stays: who still sends to one that is closed never sees the answer. */
function refuseLarge(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(413, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(errorOf(`A request has ${LARGEST_REQUEST} bytes at most.`)));
}

function refusal(status: number, message: string): Response {
  return Response.json(errorOf(message), { status });
}

function errorOf(message: string): object {
  return { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
}
