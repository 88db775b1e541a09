import { decided, executionIn } from '../../../../typescript/src/wait-for-execution.js';
import type { Execution, Schemas } from '../../../../typescript/src/index.js';
import { GovernanceError } from '../../../../typescript/src/index.js';
import { pathSegment } from '../../../../typescript/src/path-segment.js';
import { Transport } from '../../../../typescript/src/transport.js';
import { serviceFetch } from '../../service-fetch.js';
import type { JsonObject } from '../file/gateway-config.js';
import { Refusal, unavailable } from './refusal.js';

/** Milliseconds for which a request is repeated whose answer was lost: what it authorised would be lost with it. */
const PATIENCE_MS = 2_000;
/** Milliseconds after which an answer counts as lost. */
const TIMEOUT_MS = 15_000;

/** Who asks, and what the service is told of the request. */
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

export interface ExecuteHeaders {
  readonly idempotencyKey: string;
  /** Value of `Governance-Repeat`. */
  readonly repeat: string | null;
}

/** What the service answers to an execute or a resume. */
export interface ServiceExecution {
  readonly execution: Execution;
  /** True if the key had its answer before. */
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
  private readonly transport: Transport;
  private headers = new Headers();

  constructor(
    url: string,
    private readonly caller: ServiceCaller,
  ) {
    this.transport = new Transport({
      url,
      key: caller.key,
      patience: PATIENCE_MS,
      timeout: TIMEOUT_MS,
      fetch: async (target, init) => {
        const response = await serviceFetch(target, init);
        this.headers = response.headers;
        return response;
      },
    });
  }

  async me(): Promise<Schemas['MeResponse']> {
    return (await this.call('get', '/api/v1/me')) as Schemas['MeResponse'];
  }

  async execute(agentId: string, body: ExecuteBody, headers: ExecuteHeaders): Promise<ServiceExecution> {
    const { idempotencyKey, repeat } = headers;
    const path = `/api/v1/agents/${pathSegment('agent', agentId)}/execute`;
    const answer = await this.call('post', path, body, {
      'Idempotency-Key': idempotencyKey,
      ...(repeat !== null && { 'Governance-Repeat': repeat }),
    });
    return this.executionOf(answer);
  }

  /** @throws ResumeConflict if the execution is not approved any more */
  async resume(id: string, via: string, idempotencyKey: string): Promise<ServiceExecution> {
    const path = `/api/v1/executions/${pathSegment('id', id)}/resume`;
    try {
      return this.executionOf(await this.call('post', path, { via }, { 'Idempotency-Key': idempotencyKey }));
    } catch (error) {
      if (error instanceof Refusal && error.status === 409)
        throw new ResumeConflict(error.status, error.reason, error.message, error.facts);
      throw error;
    }
  }

  async read(id: string): Promise<Execution> {
    return executionIn(await this.call('get', `/api/v1/executions/${pathSegment('id', id)}`));
  }

  /** Waits until the execution is decided, for at most `wait` seconds. @throws the reason of `signal` once it is aborted */
  async wait(execution: Execution, wait: number, signal: AbortSignal): Promise<Execution> {
    try {
      return await decided(this.transport, execution, wait, signal);
    } catch (error) {
      throw error instanceof GovernanceError ? this.refusalOf(error) : error;
    }
  }

  /** The request is withdrawn. If it has been decided meanwhile, nothing runs either. */
  async cancel(id: string): Promise<void> {
    const body = { reason: 'The client left before the request was sent.' };
    await this.call('post', `/api/v1/executions/${pathSegment('id', id)}/cancel`, body).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }

  /** Asks what execute would answer, and records nothing. */
  async evaluate(body: object): Promise<Schemas['EvaluationResponse']> {
    return (await this.call('post', '/api/v1/policies/evaluate', body)) as Schemas['EvaluationResponse'];
  }

  private executionOf(answer: unknown): ServiceExecution {
    return {
      execution: executionIn(answer),
      isReplayed: this.headers.get('Idempotent-Replayed') === 'true',
      isFirst: this.headers.get('Approval-Requested') === 'true',
    };
  }

  private async call(
    method: 'get' | 'post',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const { address, traceparent, audience = null } = this.caller;
    this.headers = new Headers();
    try {
      return await this.transport.json({
        method,
        path,
        ...(body !== undefined && { body }),
        headers: {
          'X-Forwarded-For': address,
          ...(traceparent !== null && { traceparent }),
          ...(audience !== null && { 'Governance-Audience': audience }),
          ...headers,
        },
      });
    } catch (error) {
      throw error instanceof GovernanceError ? this.refusalOf(error) : error;
    }
  }

  private refusalOf(error: GovernanceError): Refusal {
    const isReplayed = this.headers.get('Idempotent-Replayed') === 'true';
    return serviceRefusal(error, { isReplayed, retryAfter: this.headers.get('Retry-After') });
  }
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
