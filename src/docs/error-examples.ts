import type { ErrorCode } from '../errors/error-codes';
import { sampleId } from './sample-id';

/** What the error of each code can look like; the request id is added. */
export const ERROR_EXAMPLES: Readonly<
  Record<ErrorCode, { readonly message: string; readonly [more: string]: unknown }>
> = {
  VALIDATION_ERROR: {
    message: 'Invalid input: name is required; query.limit must be an integer from 1 to 1000, in digits only.',
    details: [
      { field: 'name', message: 'is required' },
      { field: 'query.limit', message: 'must be an integer from 1 to 1000, in digits only' },
    ],
  },
  UNAUTHORIZED: { message: 'A valid API key is required, in exactly one X-API-Key header.' },
  PERMISSION_DENIED: {
    message: 'The agent "invoice-bot" is suspended. Resume it before it acts again.',
    reason: 'agent_suspended',
  },
  POLICY_DENIED: {
    message:
      'The policy "closed-years" (version 1.0) does not let the agent "invoice-bot" use the action "send-invoice" on "invoices/closed/2019".',
    reason: 'policy_denied',
    policy: { id: sampleId('pol', 2), name: 'closed-years', version: '1.0' },
  },
  NOT_FOUND: { message: 'The entity was not found.' },
  METHOD_NOT_ALLOWED: { message: 'This path does not answer PUT; it answers GET, HEAD, POST.' },
  REQUEST_TIMEOUT: { message: 'A request body must arrive faster: 40960 bytes or its end in each 5 seconds.' },
  CONFLICT: { message: 'An agent with the name "invoice-bot" exists already; a name is given once.' },
  PRECONDITION_FAILED: {
    message:
      'The record has changed since the revision named in If-Match. Read it again and repeat the change on its current revision.',
  },
  PAYLOAD_TOO_LARGE: { message: 'A request body may have at most 1048576 bytes.' },
  UNSUPPORTED_MEDIA_TYPE: { message: 'Send the body as Content-Type: application/json.' },
  RATE_LIMITED: { message: 'At most 100 requests are allowed per window. Try again in 42 s.' },
  HEADERS_TOO_LARGE: { message: 'The request line and headers are too large together.' },
  INTERNAL_ERROR: {
    message:
      'The service could not answer this request because of an error of its own; it is logged under the request id.',
  },
  UNAVAILABLE: {
    message: 'The database cannot take writes now. Nothing was written; repeating the request is safe.',
  },
};
