import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import type { DiscoveryService } from '@nestjs/core';
import type {
  ContentObject,
  HeaderObject,
  HeadersObject,
  ReferenceObject,
  ResponseObject,
  ResponsesObject,
  SchemaObject,
} from '@nestjs/swagger';
import {
  DENIAL_REASONS,
  type DenialReason,
  type ErrorCode,
  type AnyErrorCode,
  errorRow,
} from '../../core/errors/error-codes';
import { marksOf, type Handler, handlersIn, readTraits, type RouteTraits } from '../request/routes';
import { API_EXAMPLES, type BodyExamples } from './documentation.decorators';

/** A route's metadata for the document, beyond Swagger's own decorators. */
export interface DocumentedRoute {
  readonly traits: RouteTraits;
  readonly method: RequestMethod;
  /** True if the path has a parameter, which may name a missing record. */
  readonly namesRecord: boolean;
  /** Error codes that its decorators name. */
  readonly errors: readonly AnyErrorCode[];
  /** Examples; undefined if the only example is built from those of the body's members. */
  readonly examples: BodyExamples | undefined;
}

/** Name of an operation in the document, such as `entities_create`. */
export function operationId(controller: string, method: string): string {
  const name = controller.replace(/Controller$/, '');
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}_${method}`;
}

/** All routes of the application by operation id. */
export function documentedRoutes(discovery: DiscoveryService): Map<string, DocumentedRoute> {
  return new Map(
    handlersIn(discovery).map(([controller, handler]) => [
      operationId(controller.name, handler.name),
      describe(controller, handler),
    ]),
  );
}

function describe(controller: Type, handler: Handler): DocumentedRoute {
  return {
    traits: readTraits(controller, handler),
    method: Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod,
    namesRecord: [controller, handler].some((target) =>
      String(Reflect.getMetadata(PATH_METADATA, target)).includes(':'),
    ),
    errors: [controller, handler].flatMap((target) => marksOf(target).errors ?? []),
    examples: Reflect.getMetadata(API_EXAMPLES, handler) as BodyExamples | undefined,
  };
}

/** Headers of every answer, by name, for the document's components. */
export const COMMON_HEADERS: HeadersObject = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Id of the request in answers, logs and audit entries.' },
  'X-RateLimit-Limit': { schema: { type: 'integer' }, description: 'Requests allowed per window.' },
  'X-RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Requests left in this window.' },
  'X-RateLimit-Reset': { schema: { type: 'integer' }, description: 'Unix time in seconds at which the window resets.' },
};

/** Header of a replayed answer to the same `Idempotency-Key`. */
export const REPLAYED_HEADER_DOC: HeadersObject = {
  'Idempotent-Replayed': {
    schema: { type: 'string', enum: ['true'] },
    description: 'Present if this is the answer to an earlier request with the same `Idempotency-Key`.',
  },
};

export const COMMON_HEADER_REFERENCES: HeadersObject = Object.fromEntries(
  Object.keys(COMMON_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

const JSON_TYPE = 'application/json';
const REQUEST_ID = '9f1c2d3e-4b5a-4678-9abc-def012345678';
const WITH_BODY: ReadonlySet<RequestMethod> = new Set([RequestMethod.POST, RequestMethod.PUT, RequestMethod.PATCH]);
const OF_EVERY_ROUTE: readonly ErrorCode[] = ['VALIDATION_ERROR', 'RATE_LIMITED', 'INTERNAL_ERROR', 'UNAVAILABLE'];

/** Codes of refusals by a rule, which are replayed for the same `Idempotency-Key`. */
const REFUSALS: ReadonlySet<AnyErrorCode> = new Set(['PERMISSION_DENIED', 'POLICY_DENIED', 'CONFLICT']);

const WWW_AUTHENTICATE: HeaderObject = { schema: { type: 'string' }, description: 'How to authenticate.' };
const ACCEPT_ENCODING: HeaderObject = {
  schema: { type: 'string', enum: ['identity'] },
  description: 'Present if the `Content-Encoding` was refused.',
};
const RETRY_AFTER: HeaderObject = { schema: { type: 'integer' }, description: 'Seconds to wait.' };

/**
 * Returns the codes that a route can return: those that follow from its path, its callers and its input, and its own.
 */
export function errorCodesOf({ traits, method, namesRecord, errors }: DocumentedRoute): AnyErrorCode[] {
  return [
    ...OF_EVERY_ROUTE,
    ...(namesRecord ? (['NOT_FOUND'] as const) : []),
    ...(traits.isPublic ? [] : (['UNAUTHORIZED', 'PERMISSION_DENIED'] as const)),
    ...(WITH_BODY.has(method) ? (['REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(method === RequestMethod.POST && traits.body.isTaken && traits.keepsAnswers ? (['CONFLICT'] as const) : []),
    ...(traits.headers.some(({ name }) => name === 'If-Match') ? (['PRECONDITION_FAILED'] as const) : []),
    ...(traits.secondPerson === undefined ? [] : (['CONFLICT'] as const)),
    ...errors,
  ];
}

/**
 * Adds the responses of the codes to those of a route; codes with the same status share a response. Parts that many
 * routes share are written once, into `shared`.
 */
export function addErrorResponses(
  responses: ResponsesObject,
  codes: Iterable<AnyErrorCode>,
  shared: ResponsesObject,
): void {
  for (const [status, ofStatus] of byStatus(codes)) {
    const response = responses[status] as ResponseObject | undefined;
    const [code, ...others] = ofStatus;
    if (response === undefined && code !== undefined && others.length === 0) {
      shared[code] ??= errorResponse(ofStatus);
      responses[status] = { $ref: `#/components/responses/${code}` };
    } else {
      responses[status] = errorResponse(ofStatus, response);
    }
  }
}

function byStatus(codes: Iterable<AnyErrorCode>): Map<string, AnyErrorCode[]> {
  const groups = new Map<string, AnyErrorCode[]>();
  for (const code of new Set(codes)) {
    const status = String(errorRow(code).status);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

function errorResponse(codes: readonly AnyErrorCode[], response?: ResponseObject): ResponseObject {
  const media = response?.content?.[JSON_TYPE];
  const examples = Object.fromEntries(codes.map((code) => [code, { value: example(code) }]));
  const content: ContentObject = {
    [JSON_TYPE]: { schema: schemaOf(codes, media?.schema), examples: { ...media?.examples, ...examples } },
  };
  return {
    description: response?.description ?? codes.map((code) => errorRow(code).meaning).join(' '),
    content,
    headers: { ...response?.headers, ...errorHeaders(codes), ...COMMON_HEADER_REFERENCES },
  };
}

/** Returns the schema of the codes, combined with the one that the status has already. */
function schemaOf(
  codes: readonly AnyErrorCode[],
  schema?: SchemaObject | ReferenceObject,
): SchemaObject | ReferenceObject {
  const errors = codes.map((code) => ({ $ref: `#/components/schemas/${errorSchemaName(code)}` }));
  const [only, ...others] = [...(schema === undefined ? [] : [schema]), ...errors];
  return only !== undefined && others.length === 0
    ? only
    : { anyOf: [only, ...others].filter((schema) => schema !== undefined) };
}

function example(code: AnyErrorCode): object {
  return { error: { code, requestId: REQUEST_ID, ...errorRow(code).example } };
}

function errorHeaders(codes: readonly AnyErrorCode[]): HeadersObject {
  const isToBeRetried = codes.includes('RATE_LIMITED') || codes.includes('UNAVAILABLE');
  return {
    ...(codes.includes('UNAUTHORIZED') && { 'WWW-Authenticate': WWW_AUTHENTICATE }),
    ...(codes.includes('UNSUPPORTED_MEDIA_TYPE') && { 'Accept-Encoding': ACCEPT_ENCODING }),
    ...(isToBeRetried && { 'Retry-After': RETRY_AFTER }),
    ...(codes.some((code) => REFUSALS.has(code)) && REPLAYED_HEADER_DOC),
  };
}

type Members = Readonly<Record<string, SchemaObject>>;

/** The members of an error besides its code, message and request id. */
interface OwnMembers {
  readonly always?: Members;
  readonly sometimes?: Members;
}

const REASONS = 'DenialReason';
const DENIED_BY_POLICY = 'policy_denied' satisfies DenialReason;

const FAULTS: SchemaObject = {
  type: 'array',
  description: 'Every fault found; missing if the request cannot be read at all.',
  items: {
    type: 'object',
    required: ['field', 'message'],
    properties: { field: { type: 'string', example: 'context.confidence' }, message: { type: 'string' } },
  },
};

const POLICY: SchemaObject = {
  type: 'object',
  description: 'The policy that decided.',
  required: ['id', 'name', 'version'],
  properties: { id: { type: 'string' }, name: { type: 'string' }, version: { type: 'string' } },
};

const REJECTION: SchemaObject = {
  type: 'object',
  description: 'What the reviewer who rejected it said.',
  required: ['comment', 'instead'],
  properties: {
    comment: { type: 'string', nullable: true },
    instead: {
      type: 'object',
      nullable: true,
      description: 'What would be approved instead, and the grant for it.',
      required: ['parameters', 'grantId'],
      properties: {
        parameters: { type: 'object', additionalProperties: true },
        grantId: { type: 'string', nullable: true },
      },
    },
  },
};

const EXECUTION_ID: SchemaObject = {
  type: 'string',
  description: 'The execution that records the refusal. Only in answers of execute.',
};

const OWN_MEMBERS: Partial<Record<ErrorCode, OwnMembers>> = {
  VALIDATION_ERROR: { sometimes: { details: FAULTS } },
  PERMISSION_DENIED: {
    always: {
      reason: { description: 'Why it was denied, for machines.', allOf: [{ $ref: `#/components/schemas/${REASONS}` }] },
    },
    sometimes: {
      decisionId: { type: 'string', description: 'The decision that it waits for, or that rejected it.' },
      executionId: EXECUTION_ID,
      rejection: REJECTION,
    },
  },
  POLICY_DENIED: {
    always: { reason: { type: 'string', enum: [DENIED_BY_POLICY] }, policy: POLICY },
    sometimes: { executionId: EXECUTION_ID },
  },
};

/**
 * Returns a schema name, such as `PermissionDeniedError` for `PERMISSION_DENIED`. Plain `Error` would hide the built-in
 * class of client languages.
 */
function errorSchemaName(code: string): string {
  const words = code.replace(/_ERROR$/, '').split('_');
  return `${words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('')}Error`;
}

/** The schemas of the error answers for the given codes, by name. */
export function errorSchemas(codes: ReadonlySet<AnyErrorCode>): Record<string, SchemaObject> {
  const errors = [...codes].sort().map((code) => [errorSchemaName(code), errorSchema(code)] as const);
  const reasons = DENIAL_REASONS.filter((reason) => reason !== DENIED_BY_POLICY);
  return {
    ...(codes.has('PERMISSION_DENIED') && { [REASONS]: { type: 'string', enum: reasons } }),
    ...Object.fromEntries(errors),
  };
}

function errorSchema(code: AnyErrorCode): SchemaObject {
  const { always = {}, sometimes = {} } = OWN_MEMBERS[code as ErrorCode] ?? {};
  return {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'requestId', ...Object.keys(always)],
        properties: {
          code: { type: 'string', enum: [code] },
          message: { type: 'string', description: 'For people; the wording may change.' },
          requestId: {
            type: 'string',
            description: 'The `X-Request-Id` of the answer; of the first answer, if an `Idempotency-Key` repeats it.',
          },
          ...always,
          ...sometimes,
        },
      },
    },
  };
}
