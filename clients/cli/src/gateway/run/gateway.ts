import { randomUUID } from 'node:crypto';
import { headerValues, readTraceparent } from '../calls/ask-headers.js';
import { findCaller } from '../calls/caller.js';
import { type CallParts, governRequest, type RequestNote } from '../calls/governed-request.js';
import type { KnownCallers } from '../calls/known-callers.js';
import { KEY_REFUSED, type OwnKey } from '../calls/own-key.js';
import { answerOwnPath, sendJson } from '../calls/own-paths.js';
import { Refusal, unavailable } from '../calls/refusal.js';
import { CallerService } from '../calls/service-calls.js';
import type { Destination } from '../calls/upstream-choice.js';
import type { GatewayConfig } from '../file/gateway-config.js';
import { headFault } from '../listener/head-fault.js';
import { type ClientExchange, framingRefusal, sendRefusal } from '../listener/http-listener.js';
import {
  challenge,
  METADATA_OF_HOST,
  metadataName,
  type ProtectedResource,
  protectedResource,
} from '../mcp/protected-resource.js';
import type { LeaveSlot, RequestSlots } from '../request-slots.js';
import type { GatewayState } from './gateway-state.js';
import type { GatewayLog } from './log.js';
import type { GatewayMetrics } from './metrics.js';

export interface GatewayParts extends CallParts {
  readonly slots: RequestSlots;
  readonly callers: KnownCallers;
  readonly ownKey: Readonly<OwnKey>;
  readonly log: GatewayLog;
  readonly metrics: GatewayMetrics;
}

/** Status in the log of a request whose client left before there was an answer. */
const CLIENT_LEFT = 499;

/** Serves requests: finds out who asks for what, asks the service, sends what is authorised, and returns the answer. */
export class Gateway {
  /** Requests that run, and the state that serves each. */
  private readonly running = new Map<Promise<void>, GatewayState>();

  constructor(
    private state: GatewayState,
    private readonly parts: GatewayParts,
  ) {}

  /** Serves the next requests by another state. */
  async replaceState(state: GatewayState): Promise<void> {
    const before = this.state;
    this.state = state;
    // Calls of sessions may take long: the next requests need not wait.
    void before
      .replace(state)
      .catch((error: unknown) => this.parts.log.warn('The connections of the last file cannot be closed', error));
  }

  serve(exchange: ClientExchange): void {
    const { state } = this;
    const request = state.during(() => this.answer(exchange, state));
    this.running.set(request, state);
    void request.finally(() => this.running.delete(request));
  }

  /** Ends sessions of MCP, and resolves once no request runs. */
  async settle(): Promise<void> {
    await this.state.endSessions();
    await this.idle();
  }

  /** Resolves once no request runs. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.keys());
  }

  /** Ends what was sent and is not answered, and resolves once no request runs. */
  async close(): Promise<void> {
    const states = new Set([this.state, ...this.running.values()]);
    await Promise.all([...states].map((state) => state.close()));
    await this.idle();
  }

  private async answer(exchange: ClientExchange, state: GatewayState): Promise<void> {
    const { log, metrics } = this.parts;
    const startedAt = performance.now();
    const note: RequestNote = { upstream: null, route: null, executionId: null, reason: null };
    try {
      await this.handle(exchange, state, note);
    } catch (error) {
      this.refuse(exchange, error, note);
    }
    const milliseconds = performance.now() - startedAt;
    const { response, left } = exchange;
    const status = left.aborted && !response.headersSent ? CLIENT_LEFT : response.statusCode;
    log.request({ ...note, status, milliseconds });
    metrics.countRequest(note.upstream, status, milliseconds);
  }

  private refuse(exchange: ClientExchange, error: unknown, note: RequestNote): void {
    const requestId = randomUUID();
    const isKnown = error instanceof Refusal;
    if (exchange.left.aborted && (isKnown || error === exchange.left.reason)) return;
    if (!isKnown) this.parts.log.warn(`The request ${requestId} failed`, error);
    const refusal = isKnown ? error : new Refusal(500, null, 'The gateway has a fault; its log says which.');
    note.reason = refusal.reason;
    note.executionId ??= refusal.facts.executionId ?? null;
    if (exchange.response.headersSent) exchange.response.destroy();
    else sendRefusal(exchange, refusal, requestId);
  }

  private async handle(exchange: ClientExchange, state: GatewayState, note: RequestNote): Promise<void> {
    const { request } = exchange;
    const fault = headFault(request);
    if (fault !== null) throw framingRefusal(fault);
    const { rawHeaders, url: target = '' } = request;
    const hosts = headerValues(rawHeaders, 'host');
    const destination = state.chooser.choose({ target, hosts, origins: headerValues(rawHeaders, 'origin') });
    const [host = ''] = hosts;
    const metadata = metadataFor(destination, host, state);
    if (metadata !== null) {
      sendJson(exchange, 200, JSON.stringify(metadata));
      return;
    }
    if (destination.upstream === null) {
      const { service } = state.config;
      await answerOwnPath({ exchange, target: destination.target, service, bounds: this.parts });
      return;
    }
    note.upstream = destination.upstream.name;
    const call = {
      destination,
      note,
      gatewayBase: state.baseOf(host, destination),
      mcpUrl: state.mcpUrl(host, destination.upstream.name),
    };
    try {
      await this.handleCall(exchange, state, call);
    } catch (error) {
      throw destination.upstream.kind === 'mcp' ? challenging(error, call) : error;
    }
  }

  private async handleCall(exchange: ClientExchange, state: GatewayState, call: UpstreamCall): Promise<void> {
    const { destination, note, gatewayBase } = call;
    const { rawHeaders, socket } = exchange.request;
    const { name } = destination.upstream;
    const search = findCaller({ target: destination.target, rawHeaders }, destination.upstream);
    const traceparent = readTraceparent(rawHeaders);
    const audience = audienceFor(call, search.key, state.config);
    const client = { key: search.key, address: socket.remoteAddress ?? '', traceparent, audience };
    const service = new CallerService(state.config.service.href, client);
    const caller = await this.parts.callers.require(client, service, exchange.left);
    if (this.parts.ownKey.isRefused) throw unavailable(KEY_REFUSED);
    const leaveSlot = this.parts.slots.enterAs(caller.agentId);
    try {
      const upstream = state.upstream(name);
      if (upstream.kind === 'mcp') {
        note.route = `${exchange.request.method ?? ''} ${destination.target.split('?', 1)[0] ?? ''}`;
        const { target, rawHeaders: headers } = search;
        const enterMore = (count: number): LeaveSlot => this.parts.slots.enterMore(caller.agentId, count);
        const identified = { ...client, caller, service };
        await upstream.serve({ exchange, target, rawHeaders: headers, caller: identified, enterMore });
        return;
      }
      const request = { exchange, upstream, search, service, caller, traceparent, gatewayBase };
      await governRequest(request, this.parts, note);
    } finally {
      leaveSlot();
    }
  }
}

interface UpstreamCall {
  readonly destination: Extract<Destination, { upstream: object }>;
  readonly note: RequestNote;
  readonly gatewayBase: string;
  /** The address at which the client reaches the upstream, if that is one of MCP. */
  readonly mcpUrl: string;
}

/**
 * Returns the metadata that tells a client, which needs no key for it, where to get tokens; null for other requests.
 */
function metadataFor({ upstream, target }: Destination, host: string, state: GatewayState): ProtectedResource | null {
  const { upstreams, issuers } = state.config;
  const name = upstream === null ? metadataName(target) : upstream.name;
  if (upstream !== null && (target !== METADATA_OF_HOST || !state.chooser.isByHost(host))) return null;
  const isMcp = upstreams.some((other) => other.kind === 'mcp' && other.name === name);
  return name !== undefined && isMcp ? protectedResource(state.mcpUrl(host, name), issuers) : null;
}

/** A 401 of an MCP upstream says where its clients get tokens. */
function challenging(error: unknown, { mcpUrl }: UpstreamCall): unknown {
  if (!(error instanceof Refusal) || error.status !== 401) return error;
  const headers = { ...error.facts.headers, 'WWW-Authenticate': challenge(mcpUrl) };
  return new Refusal(error.status, error.reason, error.message, { ...error.facts, headers });
}

/**
 * Returns the audience that a token for an MCP upstream has to have; null for keys, and for upstreams of HTTP.
 * @throws Refusal 401 if clients cannot know it
 */
function audienceFor({ destination, mcpUrl }: UpstreamCall, key: string, { publicUrl }: GatewayConfig): string | null {
  // No key has a dot.
  if (destination.upstream.kind === 'http' || !key.includes('.')) return null;
  if (publicUrl === undefined) throw new Refusal(401, null, 'The gateway takes tokens only if its file has publicUrl.');
  return mcpUrl;
}
