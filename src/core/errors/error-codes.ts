/** An error code: the status of the answer, its meaning, and an example without the request id. */
export interface ErrorRow {
  readonly status: number;
  /** One sentence; docs/api-decisions.md says more. */
  readonly meaning: string;
  readonly example: { readonly message: string; readonly [more: string]: unknown };
}

/** Every error code that the service returns. To add one, add a row here, and a line in docs/api-decisions.md. */
export const ERRORS = table({
  VALIDATION_ERROR: {
    status: 400,
    meaning:
      'The request is malformed or invalid, or refers to something that does not exist; `details` lists every fault.',
    example: {
      message: 'Invalid input: name is required; query.limit must be an integer from 1 to 1000, in digits only.',
      details: [
        { field: 'name', message: 'is required' },
        { field: 'query.limit', message: 'must be an integer from 1 to 1000, in digits only' },
      ],
    },
  },
  UNAUTHORIZED: {
    status: 401,
    meaning: 'The key or token is missing, wrong, revoked or expired.',
    example: {
      message:
        'A valid key or token is required, in exactly one header: X-API-Key, or Authorization with the scheme Bearer.',
    },
  },
  PERMISSION_DENIED: {
    status: 403,
    meaning: 'The caller or the agent may not do this; `reason` says why.',
    example: {
      message: 'The agent "reminder-bot" is suspended. Resume it before it acts again.',
      reason: 'agent_suspended',
    },
  },
  POLICY_DENIED: {
    status: 403,
    meaning: 'A policy denies this; `policy` names it.',
    example: {
      message:
        'The policy "closed-accounts" (version 1.0) does not let the agent "reminder-bot" use the action "send-reminder" on "invoices/closed/2019".',
      reason: 'policy_denied',
      policy: { id: 'pol_00000000000000000000000002', name: 'closed-accounts', version: '1.0' },
    },
  },
  NOT_FOUND: { status: 404, meaning: 'The record does not exist.', example: { message: 'The entity was not found.' } },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path does not support this method.',
    example: { message: 'This path does not support PUT; it supports GET, HEAD, POST.' },
  },
  REQUEST_TIMEOUT: {
    status: 408,
    meaning: 'The body arrived too slowly.',
    example: { message: 'A request body must arrive faster: 40960 bytes or its end in each 5 seconds.' },
  },
  CONFLICT: {
    status: 409,
    meaning:
      'The state of the record does not allow this, a name is in use, or the `Idempotency-Key` was used with another body.',
    example: { message: 'An agent with the name "reminder-bot" exists already; names are unique.' },
  },
  CONTENT_ERASED: {
    status: 410,
    meaning: 'The requested content was erased; its entries remain, without their contents.',
    example: { message: 'The contents of this execution were erased, as the entry 4711 records.' },
  },
  PRECONDITION_FAILED: {
    status: 412,
    meaning: 'The revision of the record is not one that `If-Match` names.',
    example: {
      message:
        'The record has changed since the revision named in If-Match; a weak tag (W/…) names none. Read it again and repeat the change on its current revision.',
    },
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    meaning: 'The body is too large.',
    example: { message: 'A request body may have at most 1048576 bytes.' },
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The body is not JSON in UTF-8.',
    example: { message: 'Send the body as Content-Type: application/json.' },
  },
  RATE_LIMITED: {
    status: 429,
    meaning: 'Too many requests in this window.',
    example: { message: 'At most 100 requests are allowed per window (RATE_LIMIT). Try again in 42 s.' },
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    meaning: 'Request line and headers are too large.',
    example: { message: 'The request line and headers are too large together.' },
  },
  INTERNAL_ERROR: {
    status: 500,
    meaning: 'An unforeseen error, logged under the request id.',
    example: {
      message:
        'The service could not answer this request because of an internal error; it is logged under the request id.',
    },
  },
  UNAVAILABLE: {
    status: 503,
    meaning: 'The service cannot take this now; nothing was written, and a retry is safe.',
    example: {
      message: 'The database cannot take writes now. Nothing was written; repeating the request is safe.',
    },
  },
});

export type ErrorCode = keyof typeof ERRORS;

/** Reasons for a 403, for machines. */
export const DENIAL_REASONS = [
  'capability_missing',
  'no_policy_allows',
  'policy_denied',
  'self_approval',
  'agent_suspended',
  'principal_suspended',
  'stopped',
  'agent_unknown',
  'scope_missing',
  'reviewer_not_bound',
  'caller_not_bound',
  'not_this_agent',
  'not_this_principal',
  'not_this_team',
  'not_reporter',
  'own_agent',
  'not_an_approver',
  'signature_required',
  'signature_invalid',
  'approval_required',
  'approval_too_large',
  'limit_reached',
  'approval_rejected',
  'approval_insufficient',
  'outcome_unknown',
  'extension_refused',
  'resource_invalid',
] as const;

export type DenialReason = (typeof DENIAL_REASONS)[number];

/** Infers the union of the codes from the rows. */
function table<Code extends string>(rows: Readonly<Record<Code, ErrorRow>>): Readonly<Record<Code, ErrorRow>> {
  return rows;
}

/** An error code that a module defines, and its description for the API document. */
export interface ModuleError {
  /** For example `INCIDENT_CLOSED`. */
  readonly code: string;
  /** HTTP status: 400 to 499. */
  readonly status: number;
  /** One sentence about when the code is returned. */
  readonly meaning: string;
  /** An example of its message. */
  readonly example: string;
}

/** Only `defineErrorCode` returns this type. The member never exists. */
export type ModuleErrorCode = string & { readonly isOfModule: true };
export type AnyErrorCode = ErrorCode | ModuleErrorCode;

/** Module errors by code. The map is global because responses stored for an idempotency key only contain the code. */
const errorsByCode = new Map<string, ModuleError>();

/** Registers a code, and returns it for `new DomainError(…)` and `@ApiErrors(…)`. Each code is defined once. */
export function defineErrorCode(error: ModuleError): ModuleErrorCode {
  const { code, status } = error;
  if (!/^[A-Z][A-Z0-9_]{1,63}$/.test(code))
    throw new Error(`The error code ${code} must be in capitals, such as NOT_HERE.`);
  if (!Number.isInteger(status) || status < 400 || status > 499)
    throw new Error(`The error code ${code} has the status ${status}; a refusal has one from 400 to 499.`);
  if (code in ERRORS || errorsByCode.has(code))
    throw new Error(`The error code ${code} exists already; choose another.`);
  errorsByCode.set(code, error);
  return code as ModuleErrorCode;
}

/** Returns the row of a code of the service or of a module. @throws Error for an undefined code */
export function errorRow(code: AnyErrorCode): ErrorRow {
  const ofModule = errorsByCode.get(code);
  if (ofModule !== undefined) return { ...ofModule, example: { message: ofModule.example } };
  if (code in ERRORS) return ERRORS[code as ErrorCode];
  throw new Error(`The error code ${code} is unknown: define it with defineErrorCode.`);
}
