/** The words of the reviewer who rejected an action, as the service returns them. */
export type Rejection = Readonly<Record<string, unknown>>;

/** Members of an error of the gateway besides status, reason and message. */
interface RefusalFacts {
  /** Code of the service; by default that of the status. */
  readonly code?: string;
  readonly executionId?: string | null;
  readonly decisionId?: string | null;
  readonly rejection?: Rejection | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is not answered by its upstream. The message says what was refused, and what to do next. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    /** Word for machines, such as `route_not_listed`; null if the code is sufficient. */
    readonly reason: string | null,
    message: string,
    readonly facts: RefusalFacts = {},
  ) {
    super(message);
  }
}

/** Seconds after which a client may repeat what could not be asked or sent. */
const RETRY_AFTER = 1;

/** Nothing was sent, and the same request may succeed later. */
export function unavailable(message: string, retryAfter = RETRY_AFTER): Refusal {
  return new Refusal(503, null, message, { headers: { 'Retry-After': String(retryAfter) } });
}

/** Codes of the service by status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'VALIDATION_ERROR',
  401: 'UNAUTHORIZED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  410: 'CONTENT_ERASED',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  431: 'HEADERS_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  503: 'UNAVAILABLE',
};

/** The SDKs of vendors repeat a 409 and any 5xx by themselves unless these headers forbid it. */
const NO_RETRY = { 'x-should-retry': 'false', 'Stripe-Should-Retry': 'false' };

export interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The response to a client whose request was refused. */
export function refusalResponse(refusal: Refusal, requestId: string): RefusalResponse {
  const { status, reason, message, facts } = refusal;
  const { executionId = null, decisionId = null, rejection = null } = facts;
  const body = JSON.stringify({
    error: {
      code: facts.code ?? CODES[status] ?? 'GATEWAY_ERROR',
      message,
      reason,
      requestId,
      ...(executionId !== null && { executionId }),
      ...(decisionId !== null && { decisionId }),
      ...(rejection !== null && { rejection }),
    },
  });
  return {
    status,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'private, no-store',
      'X-Request-Id': requestId,
      ...(status !== 503 && NO_RETRY),
      ...facts.headers,
    },
    body,
  };
}
