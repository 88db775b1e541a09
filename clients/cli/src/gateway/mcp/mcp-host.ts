import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { withoutSession } from '../../mcp/client-link.js';
import { type Mapping, readMapping, withSecrets } from '../../mcp/mapping.js';
import { type MakeServer, proxyOf } from '../../mcp/proxy.js';
import { GovernedServer } from '../../mcp/servers/governed-server.js';
import type { AnswerPlace } from '../../mcp/servers/large-answers.js';
import { Pins } from '../../mcp/servers/pins.js';
import { Servers } from '../../mcp/servers/servers.js';
import { withBoundedBody } from '../../mcp/unread.js';
import { type Sessionless, SessionlessConnections } from './sessionless.js';
import { Sessions, type SessionServer } from './sessions.js';
import { SharedRoom } from '../shared-room.js';
import { type AskHeaders, readAskHeaders } from '../calls/ask-headers.js';
import type { CallParts } from '../calls/governed-request.js';
import { Refusal } from '../calls/refusal.js';
import type { McpUpstream } from '../file/gateway-config.js';
import type { ClientExchange } from '../listener/http-listener.js';
import type { LeaveSlot } from '../request-slots.js';
import { deliver } from '../response/deliver.js';
import type { SecretStore } from '../secrets/secret-store.js';
import { type ClientRequest, readClientRequest } from './client-request.js';
import { journaledCalls } from './journaled-calls.js';
import { type IdentifiedCaller, McpCaller, repeating } from './mcp-caller.js';
import { duringStream } from './event-stream.js';
import { duringHandler, untilHandled } from './request-handlers.js';
import { MCP_PATH } from './mcp-path.js';
import { UpstreamFetch } from './upstream-fetch.js';

/**
 * Bounds of what is parsed in one step, while nobody else is served. Values take far longer than the bytes of a text.
 */
const ANSWER_BOUNDS = { maxBytes: 4 * 2 ** 20, maxValues: 50_000 };
/**
 * Maximum bytes of all large answers of the server together: sixteen of the greatest size, of which one agent may have
 * six.
 */
const MAX_ANSWERS_BYTES = 16 * ANSWER_BOUNDS.maxBytes;
/** Bytes of an event stream that its client may leave unread. */
const MAX_UNREAD_STREAM_BYTES = 2 ** 20;
const SESSION_BOUNDS = { ofOneOwner: 10, ofOneAgent: 100, all: 200 };
const SESSIONLESS_BOUNDS = { ofOneAgent: 100, all: 200 };
/** Advice for a caller whose key or token has ended while its call waited. */
const KEY_SOURCE = 'The key or token is that of your request. Send the call again with a valid one.';
const METHODS: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);

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

interface AnsweredRequest {
  readonly request: ClientRequest;
  readonly identified: IdentifiedCaller;
  readonly ask: AskHeaders;
}

/** Answers a request, in the session or by the connection of its caller. */
type Answer = () => Promise<Response>;

/** Serves one MCP server to callers with keys of their own. */
export class McpHost {
  readonly kind = 'mcp';
  private readonly sessions = new Sessions(SESSION_BOUNDS);
  private readonly callers = new Map<string, McpCaller>();
  private readonly sessionless = new SessionlessConnections(SESSIONLESS_BOUNDS);
  private readonly answers = new SharedRoom(MAX_ANSWERS_BYTES);
  /** Requests whose calls wait or run. */
  private readonly handling = new Set<Promise<void>>();
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
    const { config, parts } = this.options;
    const { maxBodyBytes } = config;
    const { caller } = call.caller;
    const request = await readClientRequest({ exchange, rawHeaders, caller, maxBodyBytes, room: parts.room });
    const answered = { request, identified: call.caller, ask };
    if (!request.isStream) return this.handle(call, answered).finally(request.release);
    // The message that begins a stream is no longer needed while the client listens.
    request.release();
    const stream = { caller: call.caller, upstream: config.name, calls: parts.calls };
    return duringStream(stream, (stopped) => this.during(answered, (answer) => this.pass(call, answer, stopped)));
  }

  /** Passes requests on. Each has a slot until it has been handled, also when the client has left. */
  private async handle(call: McpRequest, answered: AnsweredRequest): Promise<void> {
    const leaveSlots = call.enterMore(Math.max(0, answered.request.requests - 1));
    const handled = this.during(answered, (answer) => untilHandled(() => this.pass(call, answer)));
    this.handling.add(handled);
    try {
      await handled;
    } finally {
      this.handling.delete(handled);
      leaveSlots();
    }
  }

  /** @param stopped ends the response */
  private async pass(call: McpRequest, answer: Answer, stopped?: AbortSignal): Promise<void> {
    const { unread } = this.options.parts;
    const { agentId } = call.caller.caller;
    const maxBytes = stopped === undefined ? ANSWER_BOUNDS.maxBytes : MAX_UNREAD_STREAM_BYTES;
    const response = withBoundedBody(await answer(), { agentId, room: unread, maxBytes });
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

  /** Resolves once no call waits or runs. */
  async settle(): Promise<void> {
    while (this.handling.size > 0) await Promise.allSettled(this.handling);
  }

  async close(): Promise<void> {
    await this.sessions.close();
    await this.sessionless.close();
    await this.upstream.close();
  }

  /** Serves a request, while the session or connection that answers it stays open. */
  private async during(
    { request: { request, message }, identified, ask }: AnsweredRequest,
    serve: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    const { agentId, actorId, rightsId } = identified.caller;
    // A session belongs to its actor with the same rights and principal. A renewed token serves running calls, too.
    const owner = JSON.stringify([agentId, actorId, rightsId, ask.onBehalfOf]);
    this.callers.get(owner)?.renew(identified);
    const serveRepeating = (answer: Answer): Promise<void> => serve(() => repeating(ask.repeat, answer));
    if (request.method !== 'POST' || (await isLegacyRequest(request, message))) {
      const open = (): Promise<SessionServer> => this.openSession(owner, identified, ask);
      return serveRepeating(() => this.sessions.answer({ request, message, agentId, owner, open }));
    }
    // A connection serves the requests of one run.
    const key = JSON.stringify([owner, ask.run]);
    const open = (): Promise<Sessionless> => this.openSessionless(owner, identified, ask);
    return this.sessionless.during({ key, agentId, open }, (sessionless) =>
      serveRepeating(() => sessionless.fetch(request, message)),
    );
  }

  private async openSession(owner: string, identified: IdentifiedCaller, ask: AskHeaders): Promise<SessionServer> {
    const caller = this.use(owner, identified);
    const servers = this.connect(identified);
    const end = (): void => {
      this.leave(owner, caller);
      void servers.close();
    };
    try {
      const make = await this.proxy(caller, servers, ask);
      return { server: make(randomUUID(), servers, true), onEnd: end };
    } catch (error) {
      end();
      throw error;
    }
  }

  private async openSessionless(owner: string, identified: IdentifiedCaller, ask: AskHeaders): Promise<Sessionless> {
    const caller = this.use(owner, identified);
    const servers = this.connect(identified);
    const end = async (): Promise<void> => {
      this.leave(owner, caller);
      await servers.close();
    };
    try {
      const make = await this.proxy(caller, servers, ask);
      const handler = createMcpHandler(() => make(null, servers, false), { legacy: 'reject', responseMode: 'sse' });
      servers.linkTo(withoutSession((kind) => handler.notify[`${kind}Changed`]()));
      return {
        fetch: (request, parsedBody) => handler.fetch(request, { parsedBody }),
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

  private connect({ caller: { agentId } }: IdentifiedCaller): Servers {
    const { name, url } = this.options.config;
    const placeFor = (): Promise<AnswerPlace | null> => this.answers.reserve(ANSWER_BOUNDS.maxBytes, agentId);
    const fetch = (to: string | URL | Request, init?: RequestInit): Promise<Response> =>
      this.upstream.fetch(agentId, to, init);
    const target = { url, headers: {}, fetch, bounds: ANSWER_BOUNDS, placeFor, sendsOnce: true };
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
        keySource: KEY_SOURCE,
        stops: {
          during: ({ action, resourceType, resourceId }, run) =>
            calls.during(
              {
                ...{ action, resourceType, resourceId },
                // A renewed token serves running calls, too, because the service refuses a token that has ended.
                get caller() {
                  return caller.current.caller;
                },
                get service() {
                  return caller.current.service;
                },
              },
              run,
            ),
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
    const { service, parts } = this.options;
    const caller = this.callers.get(owner) ?? new McpCaller(service, identified, parts.reports);
    caller.uses += 1;
    this.callers.set(owner, caller);
    return caller;
  }

  private leave(owner: string, caller: McpCaller): void {
    caller.uses -= 1;
    if (caller.uses === 0) this.callers.delete(owner);
  }
}
