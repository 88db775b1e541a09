import type { HeadersObject } from '@nestjs/swagger';

/** Headers of every answer, by name, for the document's components. */
export const COMMON_HEADERS: HeadersObject = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Id of the request in answers, logs and audit entries.' },
  'X-RateLimit-Limit': { schema: { type: 'integer' }, description: 'Requests allowed per window.' },
  'X-RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Requests left in this window.' },
  'X-RateLimit-Reset': { schema: { type: 'integer' }, description: 'Unix time in seconds at which the window resets.' },
};

/** Header of a replayed answer to the same `Idempotency-Key`. */
export const REPLAYED: HeadersObject = {
  'Idempotent-Replayed': {
    schema: { type: 'string', enum: ['true'] },
    description: 'Present if this is the answer to an earlier request with the same `Idempotency-Key`.',
  },
};

export function commonHeaderReferences(): HeadersObject {
  return Object.fromEntries(
    Object.keys(COMMON_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
