import { createMcpHandler, isJsonContentType, isLegacyRequest } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { withoutSession } from '../../mcp/client-link.js';
import { type Mapping, readMapping, withSecrets } from '../../mcp/mapping.js';
import { type MakeServer, proxyOf } from '../../mcp/proxy.js';
import { readableRequest } from './readable-request.js';
import { GovernedServer } from '../../mcp/servers/governed-server.js';
import { MAX_MESSAGE_BYTES, parseMessage } from '../../mcp/servers/messages.js';
import { Pins } from '../../mcp/servers/pins.js';
import { Servers } from '../../mcp/servers/servers.js';
import { requestIdsIn, Sessions, type SessionServer } from './sessions.js';
import { type AskHeaders, readAskHeaders } from '../calls/ask-headers.js';
import type { CallParts } from '../calls/governed-request.js';
import { Refusal } from '../calls/refusal.js';
import type { McpUpstream } from '../file/gateway-config.js';
import { holdBody } from '../listener/body.js';
import type { ClientExchange } from '../listener/http-listener.js';
import type { LeaveSlot } from '../request-slots.js';
import { deliver } from '../response/deliver.js';
import type { SecretStore } from '../secrets/secret-store.js';
import { extentOf } from '../../service-rules/json-extent.js';
import { headerPairs } from '../upstream/request-headers.js';
import { journaledCalls } from './journaled-calls.js';
import { type IdentifiedCaller, McpCaller, repeating } from './mcp-caller.js';
import { duringStream } from './event-stream.js';
import { duringHandler, untilHandled } from './request-handlers.js';
import { MCP_PATH } from './mcp-path.js';
import { UpstreamFetch } from './upstream-fetch.js';

/** Bounds of what is parsed in one step, while nobody else is served. Values take far longer than the bytes of a text. */
const ANSWER_BOUNDS = { maxBytes: MAX_MESSAGE_BYTES, maxValues: 50_000 };
const SESSION_BOUNDS = { ofOneOwner: 10, ofOneAgent: 100, all: 200 };
/** Callers whose connection without a session is kept. */
const MAX_SESSIONLESS = 200;
/** Method of the protocol without handshake with which a client begins to listen. */
const LISTEN = 'subscriptions/listen';
const METHODS: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);
/** Headers of a client that belong to MCP. */
const MCP_HEADERS = /^(?:accept|content-type|last-event-id|mcp-.+)$/;

/** A request whose caller is known. */
export interface McpRequest {
  readonly exchange: ClientExchange;
  /** Path and query below the upstream. */
  readonly target: string;
  /** The headers without the key. */
  readonly rawHeaders: readonly string[];
  readonly caller: IdentifiedCaller;
  /** Counts further calls of a batch. @throws Refusal 503 if there is no room for them */
  readonly enterMore: (count: number) => LeaveSlot;
}

export interface McpHostOptions {
  readonly config: McpUpstream;
  /** URL of the service. */
  readonly service: string;
  readonly secrets: SecretStore;
  readonly parts: CallParts;
}

interface McpBody {
  readonly request: Request;
  /** True if its response goes on for as long as the client listens. */
  readonly isStream: boolean;
  /** Number of the requests in it. */
  readonly requests: number;
  /** Gives back the room of the body. */
  readonly release: () => void;
}

/** The connection of a caller that speaks the protocol without handshake. */
interface Sessionless {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** Serves one MCP server to callers with keys of their own. */
export class McpHost {
  readonly kind = 'mcp';
  private readonly sessions = new Sessions(SESSION_BOUNDS);
  private readonly callers = new Map<string, McpCaller>();
  private readonly sessionless = new Map<string, Promise<Sessionless>>();
  private readonly carrying = new Set<Promise<unknown>>();
  private readonly upstream: UpstreamFetch;
  private readonly mapping: Mapping;
  private readonly pins: Pins | null;

  /** @throws SettingsError if `map` or `lock` cannot be used */
  constructor(private readonly options: McpHostOptions) {
    const { config, secrets } = options;
    this.mapping = withSecrets(readMapping(config.map), config.secret);
    this.pins = config.lock === undefined ? null : Pins.read(config.lock);
    this.upstream = new UpstreamFetch(config, secrets);
  }

  /** @throws Refusal */
  async serve(call: McpRequest): Promise<void> {
    const { exchange, target, rawHeaders } = call;
    const { method = '' } = exchange.request;
    if (target !== MCP_PATH) {
      const path = `/${this.options.config.name}${MCP_PATH}`;
      throw new Refusal(404, 'path_unknown', `This MCP server is served at ${path}.`);
    }
    if (!METHODS.has(method)) throw new Refusal(405, null, 'MCP uses POST, GET and DELETE.');
    const ask = readAskHeaders(rawHeaders);
    const body = await this.readRequest(call);
    const { request, isStream, release } = body;
    if (!isStream) return this.handle(call, body, ask).finally(release);
    // What begins a stream is no longer needed while the client listens.
    release();
    const { config, parts } = this.options;
    const stream = { caller: call.caller, upstream: config.name, calls: parts.calls };
    return duringStream(stream, (stopped) => this.pass(call, request, ask, stopped));
  }

  /** Passes requests on. Each has a slot until it has been handled, also when the client has left. */
  private async handle(call: McpRequest, { request, requests }: McpBody, ask: AskHeaders): Promise<void> {
    const leaveSlots = call.enterMore(Math.max(0, requests - 1));
    try {
      await untilHandled(() => this.pass(call, request, ask));
    } finally {
      leaveSlots();
    }
  }

  /** @param stopped ends the response */
  private async pass(call: McpRequest, request: Request, ask: AskHeaders, stopped?: AbortSignal): Promise<void> {
    const response = await repeating(ask.repeat, () => this.answer(request, call.caller, ask));
    const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never);
    const own = [...response.headers].filter(([name]) => name !== 'connection');
    const end = (): void => void body.destroy(new Error('The stream was stopped.'));
    if (stopped?.aborted === true) end();
    stopped?.addEventListener('abort', end, { once: true });
    await deliver(
      {
        kind: 'response',
        status: response.status,
        headers: [...own, ['cache-control', 'private, no-store']],
        body,
        discard: () => void body.destroy(),
      },
      call.exchange.response,
    );
  }

  /** Resolves once no call runs. */
  async settle(): Promise<void> {
    while (this.carrying.size > 0) await Promise.allSettled(this.carrying);
  }

  async close(): Promise<void> {
    await this.sessions.close();
    const kept = [...this.sessionless.values()];
    this.sessionless.clear();
    await Promise.all(kept.map(async (sessionless) => (await sessionless.catch(() => null))?.close()));
    await this.upstream.close();
  }

  private async readRequest({ exchange, rawHeaders, caller }: McpRequest): Promise<McpBody> {
    const { method = '' } = exchange.request;
    const headers = new Headers();
    for (const [name, value] of headerPairs(rawHeaders))
      if (MCP_HEADERS.test(name.toLowerCase())) headers.append(name, value);
    const url = `http://gateway${MCP_PATH}`;
    if (method !== 'POST') {
      const request = new Request(url, { method, headers, signal: exchange.left });
      return { request, isStream: method === 'GET', requests: 0, release: () => undefined };
    }
    const encoding = exchange.request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new Refusal(415, 'body_encoded', 'The body must not be compressed.');
    if (!isJsonContentType(headers.get('Content-Type')))
      throw new Refusal(415, null, 'The body must be application/json.');
    const { config, parts } = this.options;
    const { bytes, release } = await holdBody(exchange, config.maxBodyBytes, {
      room: parts.room,
      agentId: caller.caller.agentId,
    });
    try {
      // Before anything is built from them: the service takes as many values.
      const { excess } = extentOf(bytes);
      if (excess !== undefined) throw new Refusal(400, null, `The body ${excess}.`);
      const body = bytes.toString('utf8');
      const request = await readableRequest(new Request(url, { method, headers, body, signal: exchange.left }));
      const message = parseMessage(body);
      const { method: called } = Object(message) as { method?: unknown };
      return { request, isStream: called === LISTEN, requests: requestIdsIn(message).length, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  private async answer(request: Request, identified: IdentifiedCaller, ask: AskHeaders): Promise<Response> {
    const { caller } = identified;
    // A session belongs to its actor with the same rights and principal. A renewed token serves running calls, too.
    const owner = JSON.stringify([caller.agentId, caller.actorId, caller.rightsId, ask.onBehalfOf]);
    const known = this.callers.get(owner);
    if (known !== undefined) known.current = identified;
    if (request.method !== 'POST' || (await isLegacyRequest(request.clone())))
      return this.sessions.answer({
        ...{ request, agentId: caller.agentId, owner },
        open: () => this.openSession(owner, identified, ask),
      });
    const sessionless = await this.sessionlessOf(owner, identified, ask);
    return sessionless.fetch(request);
  }

  private async openSession(owner: string, identified: IdentifiedCaller, ask: AskHeaders): Promise<SessionServer> {
    const caller = this.use(owner, identified);
    const servers = this.connect();
    const end = (): void => {
      this.leave(owner, caller);
      void servers.close();
    };
    try {
      const make = await this.proxy(caller, servers, ask);
      return { server: make(randomUUID(), servers), onEnd: end };
    } catch (error) {
      end();
      throw error;
    }
  }

  private async sessionlessOf(owner: string, identified: IdentifiedCaller, ask: AskHeaders): Promise<Sessionless> {
    // The run is that of the request.
    const key = JSON.stringify([owner, ask.run]);
    const kept = this.sessionless.get(key) ?? this.openSessionless(owner, identified, ask);
    this.sessionless.delete(key);
    this.sessionless.set(key, kept);
    const [longestIdle] = this.sessionless;
    if (this.sessionless.size > MAX_SESSIONLESS && longestIdle !== undefined) {
      this.sessionless.delete(longestIdle[0]);
      void longestIdle[1].then(
        (sessionless) => sessionless.close(),
        () => undefined,
      );
    }
    try {
      return await kept;
    } catch (error) {
      this.sessionless.delete(key);
      throw error;
    }
  }

  private async openSessionless(owner: string, identified: IdentifiedCaller, ask: AskHeaders): Promise<Sessionless> {
    const caller = this.use(owner, identified);
    const servers = this.connect();
    const end = async (): Promise<void> => {
      this.leave(owner, caller);
      await servers.close();
    };
    try {
      const make = await this.proxy(caller, servers, ask);
      const handler = createMcpHandler(() => make(null, servers), { legacy: 'reject', responseMode: 'sse' });
      servers.linkTo(withoutSession((kind) => handler.notify[`${kind}Changed`]()));
      return {
        fetch: (request) => handler.fetch(request),
        close: async () => {
          await handler.close();
          await end();
        },
      };
    } catch (error) {
      await end();
      throw error;
    }
  }

  private connect(): Servers {
    const { name, url } = this.options.config;
    const target = { url, headers: {}, fetch: this.upstream.fetch, bounds: ANSWER_BOUNDS, sendsOnce: true };
    return new Servers([new GovernedServer(this.mapping.server ?? name, target)]);
  }

  /** @throws Refusal 502 if the server cannot be reached */
  private async proxy(caller: McpCaller, servers: Servers, ask: AskHeaders): Promise<MakeServer> {
    const { config, service, parts } = this.options;
    const { governance, left } = caller;
    const { reports, calls, waits } = parts;
    const { agentId } = caller.current.caller;
    try {
      return await proxyOf(servers, {
        ...{ governance, left, waits },
        serviceUrl: service,
        agent: agentId,
        forWhom: {
          ...(ask.onBehalfOf !== null && { onBehalfOf: { subject: ask.onBehalfOf } }),
          ...(ask.run !== null && { run: ask.run }),
        },
        mapping: this.mapping,
        pins: this.pins,
        results: 'hash',
        hold: config.holdMs / 1_000,
        carrying: this.carrying,
        stops: {
          during: ({ action, resourceType, resourceId }, run) =>
            calls.during({ ...caller.current, action, resourceType, resourceId }, run),
        },
        during: duringHandler,
        carryOut: journaledCalls({ governance, upstream: config.name, reports }),
        requestMembers: { via: config.name },
        ...(config.ask !== undefined && { ask: config.ask }),
        digestAbove: parts.digestAbove,
      });
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new Refusal(502, 'upstream_unreachable', `The MCP server ${config.name} cannot be used: ${why}`);
    }
  }

  private use(owner: string, identified: IdentifiedCaller): McpCaller {
    const caller = this.callers.get(owner) ?? new McpCaller(this.options.service, identified);
    caller.uses += 1;
    this.callers.set(owner, caller);
    return caller;
  }

  private leave(owner: string, caller: McpCaller): void {
    caller.uses -= 1;
    if (caller.uses === 0) this.callers.delete(owner);
  }
}
