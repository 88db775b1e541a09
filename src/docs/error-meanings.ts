import type { ErrorCode } from '../errors/error-codes';

/** When each code is given, as docs/api-decisions.md tells it at length. */
export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_ERROR: 'The request is malformed or invalid, or refers to what does not exist; `details` has every fault.',
  UNAUTHORIZED: 'The API key is missing or wrong.',
  PERMISSION_DENIED: 'The agent may not do this; `reason` says why.',
  POLICY_DENIED: 'A policy denies this; `policy` names it.',
  NOT_FOUND: 'There is no such record.',
  METHOD_NOT_ALLOWED: 'The path does not answer this method.',
  REQUEST_TIMEOUT: 'The body came too slowly.',
  CONFLICT:
    'The state of the record does not allow this, a name is taken, or the `Idempotency-Key` was used with another body.',
  PRECONDITION_FAILED: 'The record has another revision than `If-Match` names.',
  PAYLOAD_TOO_LARGE: 'The body is too large.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON in UTF-8.',
  RATE_LIMITED: 'Too many requests in this window.',
  HEADERS_TOO_LARGE: 'Request line and headers are too large.',
  INTERNAL_ERROR: 'Something unforeseen, logged under the request id.',
  UNAVAILABLE: 'The service cannot take this now; nothing was written, and a retry is safe.',
};
