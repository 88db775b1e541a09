import { RequestMethod } from '@nestjs/common';
import type {
  ContentObject,
  HeaderObject,
  HeadersObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
  SchemaObject,
} from '@nestjs/swagger';
import { DENIAL_REASONS, ERROR_STATUS, type ErrorCode } from '../errors/error-codes';
import type { DocumentedRoute } from './documented-route';
import { commonHeaderReferences, REPLAYED } from './common-headers';
import { ERROR_EXAMPLES } from './error-examples';
import { ERROR_MEANINGS } from './error-meanings';

const JSON_TYPE = 'application/json';
const REQUEST_ID = '9f1c2d3e-4b5a-4678-9abc-def012345678';
const WITH_BODY: ReadonlySet<RequestMethod> = new Set([RequestMethod.POST, RequestMethod.PUT, RequestMethod.PATCH]);
const OF_EVERY_ROUTE: readonly ErrorCode[] = ['VALIDATION_ERROR', 'RATE_LIMITED', 'INTERNAL_ERROR', 'UNAVAILABLE'];

/** Refusals by rule are answered again to the same `Idempotency-Key`. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['PERMISSION_DENIED', 'POLICY_DENIED', 'CONFLICT']);

const WWW_AUTHENTICATE: HeaderObject = { schema: { type: 'string' }, description: 'How to authenticate.' };
const RETRY_AFTER: HeaderObject = { schema: { type: 'integer' }, description: 'Seconds to wait.' };

export const ERROR_SCHEMA_NAME = 'Error';

/** The schema of every error answer. */
export const ERROR_SCHEMA: SchemaObject = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', enum: Object.keys(ERROR_STATUS) },
        message: { type: 'string', description: 'For people; it may change.' },
        requestId: {
          type: 'string',
          description: 'The `X-Request-Id` of the answer; of the first answer, where an `Idempotency-Key` repeats it.',
        },
        details: {
          type: 'array',
          description: 'VALIDATION_ERROR: every fault found.',
          items: {
            type: 'object',
            required: ['field', 'message'],
            additionalProperties: false,
            properties: { field: { type: 'string', example: 'context.confidence' }, message: { type: 'string' } },
          },
        },
        reason: { type: 'string', enum: [...DENIAL_REASONS], description: 'Why a 403 was given, for machines.' },
        policy: {
          type: 'object',
          description: 'POLICY_DENIED: the policy that decided.',
          required: ['id', 'name', 'version'],
          additionalProperties: false,
          properties: { id: { type: 'string' }, name: { type: 'string' }, version: { type: 'string' } },
        },
      },
    },
  },
};

/** The codes a route can answer with: its own, and those that follow from what it takes. */
export function errorCodesOf({ traits, method, errors }: DocumentedRoute): ErrorCode[] {
  return [
    ...errors,
    ...OF_EVERY_ROUTE,
    ...(traits.isPublic ? [] : (['UNAUTHORIZED'] as const)),
    ...(WITH_BODY.has(method) ? (['REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(method === RequestMethod.POST && traits.body !== 'none' ? (['CONFLICT'] as const) : []),
    ...(traits.checksIfMatch ? (['PRECONDITION_FAILED'] as const) : []),
  ];
}

/**
 * Adds the responses of the codes to those a route has; codes of one status share a response. What is the same for many
 * routes is written once, into `shared`.
 */
export function addErrorResponses(
  responses: ResponsesObject,
  codes: Iterable<ErrorCode>,
  shared: ResponsesObject,
): void {
  for (const [status, ofStatus] of byStatus(codes)) {
    const known = responses[status] as ResponseObject | undefined;
    const [code, ...others] = ofStatus;
    if (known === undefined && code !== undefined && others.length === 0) {
      shared[code] ??= errorResponse(ofStatus);
      responses[status] = { $ref: `#/components/responses/${code}` };
    } else {
      responses[status] = errorResponse(ofStatus, known);
    }
  }
}

function byStatus(codes: Iterable<ErrorCode>): Map<string, ErrorCode[]> {
  const groups = new Map<string, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const status = String(ERROR_STATUS[code]);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function errorResponse(codes: readonly ErrorCode[], known?: ResponseObject): ResponseObject {
  const media = known?.content?.[JSON_TYPE];
  const examples = Object.fromEntries(codes.map((code) => [code, { value: example(code) }]));
  const content: ContentObject = {
    [JSON_TYPE]: { schema: schemaBeside(media?.schema), examples: { ...media?.examples, ...examples } },
  };
  return {
    description: known?.description ?? codes.map((code) => ERROR_MEANINGS[code]).join(' '),
    content,
    headers: { ...known?.headers, ...errorHeaders(codes), ...commonHeaderReferences() },
  };
}

const ERROR_REFERENCE: ReferenceObject = { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` };

function schemaBeside(schema: SchemaObject | ReferenceObject | undefined): SchemaObject | ReferenceObject {
  return schema === undefined ? ERROR_REFERENCE : { anyOf: [schema, ERROR_REFERENCE] };
}

function example(code: ErrorCode): object {
  return { error: { code, requestId: REQUEST_ID, ...ERROR_EXAMPLES[code] } };
}

function errorHeaders(codes: readonly ErrorCode[]): HeadersObject {
  const isToBeRetried = codes.includes('RATE_LIMITED') || codes.includes('UNAVAILABLE');
  return {
    ...(codes.includes('UNAUTHORIZED') && { 'WWW-Authenticate': WWW_AUTHENTICATE }),
    ...(isToBeRetried && { 'Retry-After': RETRY_AFTER }),
    ...(codes.some((code) => REFUSALS.has(code)) && REPLAYED),
  };
}
