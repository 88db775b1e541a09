import { STATUS_CODES } from 'node:http';
import { RequestMethod } from '@nestjs/common';
import type {
  ContentObject,
  HeadersObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
  SchemaObject,
} from '@nestjs/swagger';
import { DENIAL_REASONS, ERROR_STATUS, type ErrorCode } from '../errors/error-codes';
import type { DocumentedRoute } from './documented-route';
import { ERROR_EXAMPLES } from './error-examples';

const JSON_TYPE = 'application/json';
const REQUEST_ID = '9f1c2d3e-4b5a-4678-9abc-def012345678';
const WITH_BODY: ReadonlySet<RequestMethod> = new Set([RequestMethod.POST, RequestMethod.PUT, RequestMethod.PATCH]);
const OF_EVERY_ROUTE: readonly ErrorCode[] = ['VALIDATION_ERROR', 'RATE_LIMITED', 'INTERNAL_ERROR', 'UNAVAILABLE'];

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
        requestId: { type: 'string', description: 'The `X-Request-Id` of the answer.' },
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
    ...(WITH_BODY.has(method) ? (['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(traits.checksIfMatch ? (['PRECONDITION_FAILED'] as const) : []),
  ];
}

/** Adds a response for each code to those a route has; codes of one status share a response. */
export function addErrorResponses(responses: ResponsesObject, codes: Iterable<ErrorCode>): void {
  for (const code of new Set(codes)) {
    const status = String(ERROR_STATUS[code]);
    responses[status] = withError(responses[status] as ResponseObject | undefined, code);
  }
}

function withError(response: ResponseObject | undefined, code: ErrorCode): ResponseObject {
  const known = response?.content?.[JSON_TYPE];
  const examples = { ...known?.examples, [code]: { value: example(code) } };
  const content: ContentObject = { [JSON_TYPE]: { schema: schemaBeside(known?.schema), examples } };
  const headers = errorHeaders(code);
  return {
    description: response?.description ?? STATUS_CODES[ERROR_STATUS[code]] ?? code,
    content,
    headers: { ...response?.headers, ...headers },
  };
}

const ERROR_REFERENCE: ReferenceObject = { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` };

function schemaBeside(schema: SchemaObject | ReferenceObject | undefined): SchemaObject | ReferenceObject {
  const isErrorAlone = schema === undefined || ('$ref' in schema && schema.$ref === ERROR_REFERENCE.$ref);
  return isErrorAlone ? ERROR_REFERENCE : { anyOf: [schema, ERROR_REFERENCE] };
}

function example(code: ErrorCode): object {
  return { error: { code, requestId: REQUEST_ID, ...ERROR_EXAMPLES[code] } };
}

function errorHeaders(code: ErrorCode): HeadersObject {
  if (code === 'UNAUTHORIZED') {
    return { 'WWW-Authenticate': { schema: { type: 'string' }, description: 'How to authenticate.' } };
  }
  const isToBeRetried = code === 'RATE_LIMITED' || code === 'UNAVAILABLE';
  return isToBeRetried ? { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait.' } } : {};
}
