import { decided, executionIn } from '../../../../typescript/src/wait-for-execution.js';
import type { Execution, Schemas } from '../../../../typescript/src/index.js';
import { GovernanceError, unexpectedAnswer } from '../../../../typescript/src/governance-error.js';
import { pathSegment } from '../../../../typescript/src/path-segment.js';
import { type Answer, type SentRequest, Transport } from '../../../../typescript/src/transport.js';
import type { ListedStop } from '../../mcp/running-calls.js';
import { serviceFetch } from '../../service-fetch.js';
import type { JsonObject } from '../file/gateway-config.js';
import { MAX_STOPS } from '../../covering-stops.js';
import { Refusal, unavailable } from './refusal.js';

/**
 * Milliseconds for which a request without an answer is repeated: otherwise an authorisation would be lost with the
 * answer.
 */
export const PATIENCE_MS = 2_000;
/** Milliseconds after which an answer counts as lost. */
export const TIMEOUT_MS = 15_000;

/** The caller of the service, and the headers that describe its request. */
export interface ServiceCaller {
  readonly key: string;
  /** Address of the client. */
  readonly address: string;
  readonly traceparent: string | null;
  /** Value of `Governance-Audience`: what a token for the gateway has to be made for. Null for keys. */
  readonly audience?: string | null;
}

/** The body of an execute. */
export interface ExecuteBody {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  readonly via: string;
  readonly secret?: readonly string[];
  readonly onBehalfOf?: { readonly subject: string };
  readonly run?: string;
}

/** The headers of an execute or a resume. */
export interface ExecuteHeaders {
  readonly idempotencyKey: string;
  /** Value of `Governance-Repeat`. */
  readonly repeat: string | null;
}

/** The service's response to an execute or a resume. */
export interface ServiceExecution {
  readonly execution: Execution;
  /** True if the idempotency key was answered before. */
  readonly isReplayed: boolean;
  /** True if this request has asked for the approval. */
  readonly isFirst: boolean;
}

/** A refusal that the service recorded under an idempotency key before, and answers again. */
export class ReplayedRefusal extends Refusal {}

/** A resume of an execution that is no longer approved. */
export class ResumeConflict extends Refusal {}

/** The requests to the service that the gateway makes with a caller's own key. @throws Refusal */
export class CallerService {
  constructor(
    private readonly url: string,
    private readonly caller: ServiceCaller,
  ) {}

  async me(): Promise<Schemas['MeResponse']> {
    return this.call({ method: 'get', path: '/api/v1/me' }, ({ body }) => {
      const { agentId, actor, scopes } = membersOf(body);
      const hasAgent = typeof agentId === 'string' || agentId === null;
      if (hasAgent && typeof membersOf(actor)['id'] === 'string' && Array.isArray(scopes))
        return body as Schemas['MeResponse'];
      throw unexpectedAnswer('it does not say whose the key is.', null);
    });
  }

  async execute(agentId: string, body: ExecuteBody, headers: ExecuteHeaders): Promise<ServiceExecution> {
    const path = `/api/v1/agents/${pathSegment('agent', agentId)}/execute`;
    return this.call({ method: 'post', path, body, headers: headerFields(headers) }, executionOf);
  }

  /** @throws ResumeConflict if the execution is not approved any more */
  async resume(id: string, via: string, headers: ExecuteHeaders): Promise<ServiceExecution> {
    const path = `/api/v1/executions/${pathSegment('id', id)}/resume`;
    try {
      return await this.call({ method: 'post', path, body: { via }, headers: headerFields(headers) }, executionOf);
    } catch (error) {
      if (error instanceof Refusal && error.status === 409)
        throw new ResumeConflict(error.status, error.reason, error.message, error.facts);
      throw error;
    }
  }

  async read(id: string): Promise<Execution> {
    const path = `/api/v1/executions/${pathSegment('id', id)}`;
    return this.call({ method: 'get', path }, ({ body }) => executionIn(body));
  }

  /**
   * Waits until the execution is decided, for at most `wait` seconds.
   * @throws the reason of `signal` once it is aborted
   */
  async wait(execution: Execution, wait: number, signal: AbortSignal): Promise<Execution> {
    return this.withTransport((transport) => decided(transport, execution, wait, signal));
  }

  /**
   * Withdraws a request for approval. Its refusal is ignored: if the request was decided meanwhile, nothing runs
   * either.
   */
  async cancel(id: string): Promise<void> {
    const body = { reason: 'The client left before the request was sent.' };
    const path = `/api/v1/executions/${pathSegment('id', id)}/cancel`;
    try {
      await this.call({ method: 'post', path, body }, executionOf);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** Asks what execute would answer, and records nothing. */
  async evaluate(body: object): Promise<Schemas['EvaluationResponse']> {
    return this.call({ method: 'post', path: '/api/v1/policies/evaluate', body }, ({ body: answer }) => {
      const { effect, results, policies } = membersOf(answer);
      if (Array.isArray(results) || (typeof effect === 'string' && Array.isArray(policies)))
        return answer as Schemas['EvaluationResponse'];
      throw unexpectedAnswer('it is not an evaluation.', null);
    });
  }

  /** The active stops that the caller sees: those that may concern its agent, unless it may see more. */
  async activeStops(): Promise<readonly ListedStop[]> {
    return this.call({ method: 'get', path: `/api/v1/stops?status=active&limit=${MAX_STOPS}` }, ({ body }) => {
      if (Array.isArray(membersOf(body)['data'])) return (body as Schemas['StopPage']).data;
      throw unexpectedAnswer('it is not a list of stops.', null);
    });
  }

  /** @param read throws a GovernanceError for an answer that is not the service's */
  private call<Result>(request: SentRequest, read: (answer: Answer) => Result): Promise<Result> {
    return this.withTransport(async (transport) => read(await transport.answer(request)));
  }

  /** Runs requests that need the headers of an error's response. @throws Refusal for an error of the service */
  private async withTransport<Result>(run: (transport: Transport) => Promise<Result>): Promise<Result> {
    let headers = new Headers();
    const transport = new Transport({
      url: this.url,
      key: this.caller.key,
      patience: PATIENCE_MS,
      timeout: TIMEOUT_MS,
      fetch: async (target, init) => {
        const response = await callerFetch(this.caller, target, init);
        headers = response.headers;
        return response;
      },
    });
    try {
      return await run(transport);
    } catch (error) {
      if (!(error instanceof GovernanceError)) throw error;
      throw serviceRefusal(error, { isReplayed: isReplayed(headers), retryAfter: headers.get('Retry-After') });
    }
  }
}

function headerFields({ idempotencyKey, repeat }: ExecuteHeaders): Readonly<Record<string, string>> {
  return { 'Idempotency-Key': idempotencyKey, ...(repeat !== null && { 'Governance-Repeat': repeat }) };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Sends a request to the service as a caller: with its key, and with what the service is told of its client. */
export function callerFetch(
  { key, address, traceparent, audience = null }: ServiceCaller,
  target: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${key}`);
  headers.set('X-Forwarded-For', address);
  if (traceparent !== null) headers.set('traceparent', traceparent);
  if (audience !== null) headers.set('Governance-Audience', audience);
  return serviceFetch(target, { ...init, headers });
}

function executionOf({ body, headers }: Answer): ServiceExecution {
  return {
    execution: executionIn(body),
    isReplayed: isReplayed(headers),
    isFirst: headers.get('Approval-Requested') === 'true',
  };
}

function isReplayed(headers: Headers): boolean {
  return headers.get('Idempotent-Replayed') === 'true';
}

interface ResponseFacts {
  readonly isReplayed: boolean;
  readonly retryAfter: string | null;
}

/** The client's answer for an error of the service. */
export function serviceRefusal(error: GovernanceError, { isReplayed, retryAfter }: ResponseFacts): Refusal {
  const { status, code, reason, rejection, executionId, decisionId, message } = error;
  if (status === null || status < 400 || status >= 500 || status === 429 || code === 'UNEXPECTED_ANSWER')
    return unavailable(
      `The governance service does not answer now, so nothing was sent. ${code === 'RATE_LIMITED' ? message : ''}`.trim(),
      /^\d{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined,
    );
  const facts = { executionId, decisionId, rejection };
  const Kind = isReplayed ? ReplayedRefusal : Refusal;
  if (status === 403 && reason === 'outcome_unknown') {
    const advice =
      'Find out first whether it was carried out; Governance-Repeat with the id of that execution lifts this.';
    return new Kind(422, reason, `${message} ${advice}`, facts);
  }
  return new Kind(status, reason, message, { code, ...facts });
}
