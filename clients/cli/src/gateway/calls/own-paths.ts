import type { SharedRoom } from '../shared-room.js';
import { holdBody } from '../listener/body.js';
import type { ClientExchange } from '../listener/http-listener.js';
import type { RequestSlots } from '../request-slots.js';
import { serviceFetch } from '../../service-fetch.js';
import { withTimeLimit } from '../../time-limit.js';
import { readTraceparent } from './ask-headers.js';
import { findCaller } from './caller.js';
import type { KnownCallers } from './known-callers.js';
import { KEY_REFUSED, type OwnKey } from './own-key.js';
import { Refusal, unavailable } from './refusal.js';
import { callerFetch, CallerService, type ServiceCaller } from './service-calls.js';

/** The bounds of an agent's requests, whatever they are for. */
export interface CallerBounds {
  readonly callers: KnownCallers;
  readonly slots: RequestSlots;
  readonly room: SharedRoom;
  readonly ownKey: Readonly<OwnKey>;
}

/** A request to the gateway itself. */
export interface OwnRequest {
  readonly exchange: ClientExchange;
  /** Path and query. */
  readonly target: string;
  readonly service: URL;
  readonly bounds: CallerBounds;
}

const EXECUTION = /^\/-\/executions\/([A-Za-z0-9_]{1,64})(?:\?wait=(\d{1,2}))?$/;
const CANCEL = /^\/-\/executions\/([A-Za-z0-9_]{1,64})\/cancel$/;
const HEALTH_TIMEOUT_MS = 5_000;
/** Milliseconds beyond the time for which the service was asked to hold its answer. */
const TIMEOUT_MS = 15_000;
/** A body holds only a reason. */
const MAX_BODY_BYTES = 16 * 1024;
const FIRST_SERVER_ERROR = 500;

/**
 * Answers `/-/health`, and passes on, with the agent's own key, the requests with which it waits for its executions.
 * @throws Refusal
 */
export async function answerOwnPath(own: OwnRequest): Promise<void> {
  const { exchange, target } = own;
  const { method = '' } = exchange.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (target === '/-/health' && isRead) return answerHealth(own);
  const [, id, wait] = EXECUTION.exec(target) ?? [];
  if (id !== undefined && isRead) return passOn(own, { method: 'GET', path: `/${id}`, wait: Number(wait ?? 0) });
  const [, cancelled] = CANCEL.exec(target) ?? [];
  if (cancelled !== undefined && method === 'POST')
    return passOn(own, { method: 'POST', path: `/${cancelled}/cancel`, wait: 0 });
  throw new Refusal(
    404,
    null,
    'The gateway itself serves /-/health, /-/executions/<id>?wait= and /-/executions/<id>/cancel.',
  );
}

/** The check of the service's health that is running; null if there is none. */
let healthCheck: Promise<boolean> | null = null;

async function isHealthy(service: URL): Promise<boolean> {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
  return serviceFetch(new URL('/api/v1/health', service), { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function answerHealth({ exchange, service, bounds }: OwnRequest): Promise<void> {
  // Anybody may ask for the health, so one request to the service answers all who ask while it runs.
  healthCheck ??= isHealthy(service).finally(() => (healthCheck = null));
  if (!(await healthCheck)) throw unavailable('The governance service does not answer.');
  if (bounds.ownKey.isRefused) throw unavailable(KEY_REFUSED);
  sendJson(exchange, 200, JSON.stringify({ status: 'ok' }));
}

interface ServiceRequest {
  readonly method: 'GET' | 'POST';
  /** Below the executions. */
  readonly path: string;
  /** Seconds. */
  readonly wait: number;
}

async function passOn(own: OwnRequest, serviceRequest: ServiceRequest): Promise<void> {
  const { exchange, target, service, bounds } = own;
  const { rawHeaders, socket } = exchange.request;
  const { key } = findCaller({ target, rawHeaders }, null);
  const caller = { key, address: socket.remoteAddress ?? '', traceparent: readTraceparent(rawHeaders) };
  const { agentId } = await bounds.callers.require(caller, new CallerService(service.href, caller), exchange.left);
  const leaveSlot = bounds.slots.enterAs(agentId);
  try {
    const { bytes, release } = await holdBody(exchange, MAX_BODY_BYTES, { room: bounds.room, agentId });
    await sendToService(own, caller, serviceRequest, bytes.toString('utf8')).finally(release);
  } finally {
    leaveSlot();
  }
}

async function sendToService(
  { exchange, service }: OwnRequest,
  caller: ServiceCaller,
  { method, path, wait }: ServiceRequest,
  body: string,
): Promise<void> {
  const url = new URL(`/api/v1/executions${path}${wait === 0 ? '' : `?wait=${wait}`}`, service);
  const signal = withTimeLimit(exchange.left, 1_000 * wait + TIMEOUT_MS);
  const content = body === '' ? {} : { headers: { 'Content-Type': 'application/json' }, body };
  const answer = await callerFetch(caller, url, { method, signal, ...content }).catch(() => {
    throw unavailable('The governance service does not answer now.');
  });
  if (answer.status >= FIRST_SERVER_ERROR || answer.status === 429)
    throw unavailable('The governance service does not answer now.');
  sendJson(exchange, answer.status, await answer.text());
}

export function sendJson({ request, response }: ClientExchange, status: number, body: string): void {
  response
    .writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'private, no-store',
    })
    .end(request.method === 'HEAD' ? undefined : body);
}
