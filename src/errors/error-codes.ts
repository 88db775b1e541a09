/**
 * Every error code the service can answer with, and its HTTP status.
 * Adding a code is adding a row here (and a line in docs/api-decisions.md).
 */
export const ERROR_STATUS = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  PERMISSION_DENIED: 403,
  POLICY_DENIED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** Why a 403 was given, for machines. */
export const DENIAL_REASONS = [
  'capability_missing',
  'no_policy_allows',
  'policy_denied',
  'self_approval',
  'agent_suspended',
] as const;

export type DenialReason = (typeof DENIAL_REASONS)[number];
