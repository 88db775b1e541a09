import type { Execution } from '../../../../typescript/src/index.js';
import type { ApprovalWaits } from '../../approval-waits.js';
import { VERSION } from '../../version.js';
import type { SharedRoom } from '../shared-room.js';
import type { HttpUpstream } from '../file/gateway-config.js';
import { holdBody } from '../listener/body.js';
import type { ClientExchange } from '../listener/http-listener.js';
import { type ActionRequest, buildAction } from '../request/build-action.js';
import { matchRequest } from '../request/match-request.js';
import { isRefusal, type RequestRefusal } from '../request/request-refusal.js';
import { ResponseUrls } from '../response/response-urls.js';
import type { SentCredentials } from '../upstream/credentials.js';
import { buildRequestHeaders } from '../upstream/request-headers.js';
import type { UpstreamClient, UpstreamRequest } from '../upstream/upstream-client.js';
import type { UpstreamCredentials } from '../upstream/upstream-credentials.js';
import { type AskHeaders, readAskHeaders, serviceKey } from './ask-headers.js';
import { authorise } from './authorisation.js';
import { type CallerSearch } from './caller.js';
import { carryOut } from './carry-out.js';
import { requireAllowed } from './evaluation.js';
import type { Caller } from './known-callers.js';
import { Refusal } from './refusal.js';
import type { Reports } from './reports.js';
import type { RunningCalls } from '../../mcp/running-calls.js';
import type { UnreadRoom } from '../../mcp/unread.js';
import type { CallerService } from './service-calls.js';

/** The parts that all requests share. */
export interface CallParts {
  readonly reports: Reports;
  readonly calls: RunningCalls;
  readonly waits: ApprovalWaits;
  readonly room: SharedRoom;
  /** Room for the bytes that clients of MCP have not read. */
  readonly unread: UnreadRoom;
  /** Bytes above which the service gets the hash of a text. */
  readonly digestAbove: number;
}

/** An upstream with its connections. */
export interface OpenUpstream {
  readonly kind: 'http';
  readonly config: HttpUpstream;
  readonly client: UpstreamClient;
  readonly credentials: UpstreamCredentials;
  close(): Promise<void>;
}

/** A request whose caller is known. */
export interface IdentifiedRequest {
  readonly exchange: ClientExchange;
  readonly upstream: OpenUpstream;
  readonly search: CallerSearch;
  readonly service: CallerService;
  readonly caller: Caller;
  readonly traceparent: string | null;
  /** The address at which the client reaches the upstream, without a final `/`. */
  readonly gatewayBase: string;
}

/** The members of a request's log line. */
export interface RequestNote {
  upstream: string | null;
  route: string | null;
  executionId: string | null;
  reason: string | null;
}

/** Serves a request from its head to the end of its response. @throws Refusal */
export async function governRequest(request: IdentifiedRequest, parts: CallParts, note: RequestNote): Promise<void> {
  const { exchange, upstream, search } = request;
  const ask = readAskHeaders(search.rawHeaders);
  const { method = '' } = exchange.request;
  const { target, rawHeaders } = search;
  const match = accepted(matchRequest(upstream.config, { method, target, rawHeaders }));
  note.route = match.route.match;
  const holder = { room: parts.room, agentId: request.caller.agentId };
  const { bytes: body, release } = await holdBody(exchange, match.route.maxBodyBytes, holder);
  try {
    const action = accepted(
      await buildAction(match, body, parts.digestAbove, { agentId: holder.agentId, left: exchange.left }),
    );
    await run({ request, parts, note, ask, action, body });
  } finally {
    release();
  }
}

interface ActionToRun {
  readonly request: IdentifiedRequest;
  readonly parts: CallParts;
  readonly note: RequestNote;
  readonly ask: AskHeaders;
  readonly action: ActionRequest;
  readonly body: Buffer;
}

/** Runs an action. It is registered for stops before it is authorised, so that no stop is missed in between. */
async function run(toRun: ActionToRun): Promise<void> {
  const { request, parts, note, action, body } = toRun;
  const { exchange, upstream, caller, service } = request;
  const { action: name, resource } = action;
  const call = { caller, service, action: name, resourceType: resource.type, resourceId: resource.id };
  await parts.calls.during(call, async (stopped) => {
    const execution = await permit(toRun, stopped);
    note.executionId = execution?.id ?? null;
    const { target } = request.search;
    const { sent, redactor } = upstream.credentials.current();
    await carryOut({
      exchange,
      execution,
      request: upstreamRequest(request, execution, {
        body,
        endsConnection: action.endsConnection,
        timeoutMs: action.route.timeoutMs,
        credentials: sent,
      }),
      client: upstream.client,
      upstream: upstream.config.name,
      context: {
        method: exchange.request.method ?? '',
        urls: new ResponseUrls(upstream.config.url, target, request.gatewayBase),
        redactor,
        agentId: caller.agentId,
        left: exchange.left,
      },
      reports: parts.reports,
      stopped,
    });
  });
}

/** The execution that may be sent; null if the request is only evaluated. @throws Refusal */
async function permit({ request, parts, ask, action }: ActionToRun, stopped: AbortSignal): Promise<Execution | null> {
  const { service, caller, upstream, exchange, search } = request;
  const { onBehalfOf, run: name, idempotencyKey, repeat } = ask;
  const body = {
    action: action.action,
    resourceType: action.resource.type,
    resourceId: action.resource.id,
    parameters: action.parameters,
    ...(action.secret.length > 0 && { secret: action.secret }),
    ...(onBehalfOf !== null && { onBehalfOf: { subject: onBehalfOf } }),
    ...(name !== null && { run: name }),
  };
  if (!action.route.isRecorded && !(await requireAllowed(service, { agent: caller.agentId, ...body }))) return null;
  const via = upstream.config.name;
  const [path = ''] = search.target.split('?', 1);
  const { method = '' } = exchange.request;
  return authorise({
    service,
    agentId: caller.agentId,
    body: { ...body, via },
    key: idempotencyKey === null ? null : serviceKey({ upstream: via, method, path, key: idempotencyKey }),
    repeat,
    holdMs: action.route.holdMs,
    waits: parts.waits,
    reports: parts.reports,
    signal: exchange.left,
    stopped,
  });
}

interface RequestContent extends Pick<UpstreamRequest, 'body' | 'endsConnection' | 'timeoutMs'> {
  readonly credentials: SentCredentials;
}

function upstreamRequest(
  { upstream, search, exchange, traceparent }: IdentifiedRequest,
  execution: Execution | null,
  { body, endsConnection, timeoutMs, credentials }: RequestContent,
): UpstreamRequest {
  const { config } = upstream;
  const { idempotencyHeader } = config;
  const headers = buildRequestHeaders({
    rawHeaders: search.rawHeaders,
    listed: config.headers,
    credentials: credentials.headers,
    ...(traceparent !== null && { traceparent }),
    ...(execution !== null && idempotencyHeader !== undefined && { idempotency: [idempotencyHeader, execution.id] }),
    version: VERSION,
  });
  const { method = '' } = exchange.request;
  return {
    method,
    target: search.target,
    headers,
    credentialQuery: credentials.query,
    body,
    endsConnection,
    timeoutMs,
  };
}

/** @throws Refusal for what the request step refuses */
function accepted<Value extends object>(value: Value | RequestRefusal): Value {
  if (isRefusal(value)) throw new Refusal(value.status, value.reason, value.message);
  return value;
}
