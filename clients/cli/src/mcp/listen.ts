import {
  hostHeaderValidation,
  type NodeIncomingMessageLike,
  originValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { printError } from '../output.js';
import { SettingsError } from '../settings.js';
import type { ClientLink } from './servers/governed-server.js';
import type { MakeServer } from './proxy.js';
import { readableRequest } from './readable-request.js';
import type { Servers } from './servers/servers.js';
import { jsonRpcRefusal, SERVER_ERROR, Sessions, type SessionServer } from './sessions.js';

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

/** Where a proxy may listen without being asked to: whoever reaches it acts as its agent. */
const THIS_MACHINE = /^(?:127\.|::1(?:%|$))/;

const LOOPBACK = '127.0.0.1';
const LOOPBACK_NAMES = ['localhost', LOOPBACK, '[::1]'];
/** The one path that is served. */
const PATH = '/mcp';
/** Sessions of clients with a handshake, each with its connections to servers; beyond that, the one that has been idle longest is ended. */
const MOST_SESSIONS = 100;
/** All sessions belong to the key of this proxy. */
const OWNER = '';
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
  const sessions = new Sessions({ ofOneOwner: MOST_SESSIONS, all: Infinity });
  const answer = (request: Request): Promise<Response> =>
    sessions.answer({ request, owner: OWNER, open: async () => openSession(make, first) });
  const modern = createMcpHandler(() => make(null, first), { legacy: 'reject', responseMode: 'sse' });
  first.linkTo(withoutSession((kind) => modern.notify[`${kind}Changed`]()));
  const handle = toNodeHandler({
    fetch: async (request, options) => {
      if (new URL(request.url).pathname !== PATH) return refusal(404, `It is served at ${PATH}.`);
      if (request.method !== 'POST') return answer(request);
      if (!isJsonContentType(request.headers.get('Content-Type'))) return refusal(415, 'It is not JSON.');
      const readable = await readableRequest(request);
      return (await isLegacyRequest(readable)) ? answer(readable) : modern.fetch(readable, options);
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

function openSession(make: MakeServer, first: Servers): SessionServer {
  const servers = first.another();
  return { server: make(randomUUID(), servers), onEnd: () => void servers.close() };
}

/** Requests without a session have no client that could be asked. */
export function withoutSession(changed: ClientLink['changed']): ClientLink {
  const refuse = (): never => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Without a session there is nobody to ask.');
  };
  return { changed, notified: () => undefined, roots: refuse, elicit: refuse };
}

/** All of it is read, and the connection stays: who still sends to one that is closed never sees the answer. */
function refuseLarge(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(413, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(errorOf(`A request has ${LARGEST_REQUEST} bytes at most.`)));
}

function errorOf(message: string): object {
  return { jsonrpc: '2.0', error: { code: SERVER_ERROR, message }, id: null };
}

function refusal(status: number, message: string): Response {
  return jsonRpcRefusal(status, SERVER_ERROR, message);
}
