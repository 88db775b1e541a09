import { RequestMethod } from '@nestjs/common';
import type {
  HeadersObject,
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from '@nestjs/swagger';
import type { RouteScopes } from '../request/routes';
import { commonHeaderReferences, type DocumentedRoute, REPLAYED } from './documented-route';
import { addErrorResponses, errorCodesOf } from './error-responses';
import type { BodyExamples } from './documentation.decorators';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const ETAG: HeadersObject = {
  ETag: {
    schema: { type: 'string' },
    example: '"1"',
    description: 'The revision, for `If-Match` and `If-None-Match`.',
  },
};
const CONTENT_ETAG: HeadersObject = {
  ETag: { schema: { type: 'string' }, example: '"9f2c"', description: 'Of what the answer says, for `If-None-Match`.' },
};
const IF_NONE_MATCH: ParameterObject = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'ETag of a copy the client has (one, a list, or `*`): 304 if it is current.',
};
const IDEMPOTENCY_KEY: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  description:
    'Makes the request safe to repeat: for 24 hours the same key, path and body return the first answer again and take ' +
    'effect only once. A different body is a CONFLICT.',
};
const LOCATION: HeadersObject = { Location: { schema: { type: 'string' }, description: 'Path of the new record.' } };

/** Adds to every operation what the HTTP layer adds to it: its errors, its headers, and whether it requires a key. */
export function completeOperations(document: OpenAPIObject, routes: ReadonlyMap<string, DocumentedRoute>): void {
  for (const item of Object.values(document.paths)) {
    for (const operation of METHODS.flatMap((method) => item[method] ?? [])) {
      const route = routes.get(operation.operationId ?? '');
      if (route !== undefined) {
        complete(document, operation, route);
      }
    }
  }
}

function complete(document: OpenAPIObject, operation: OperationObject, route: DocumentedRoute): void {
  const shared = ((document.components ??= {}).responses ??= {});
  if (route.traits.isPublic) operation.security = [];
  else describeScope(operation, route.traits.scopes);
  completeRequestBody(document, operation, route.examples);
  describeRevision(operation, route);
  if (route.method === RequestMethod.POST && route.traits.keepsAnswers) describeIdempotency(operation);
  addErrorResponses(operation.responses, errorCodesOf(route), shared);
  for (const response of Object.values(operation.responses)) {
    if (response !== undefined && !('$ref' in response)) {
      response.headers = { ...response.headers, ...commonHeaderReferences() };
    }
  }
}

/** Adds a separate line at the end. */
function describeScope(operation: OperationObject, scopes: RouteScopes): void {
  const line =
    typeof scopes === 'string' ? 'Scope: any.' : `Scope: ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  operation.description = operation.description === undefined ? line : `${operation.description}\n\n${line}`;
}

/** Successful answers, and refusals by a rule, are replayed. */
function describeIdempotency(operation: OperationObject): void {
  operation.parameters = [...(operation.parameters ?? []), IDEMPOTENCY_KEY];
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    if (status.startsWith('2')) response.headers = { ...response.headers, ...REPLAYED };
  }
}

function describeRevision(operation: OperationObject, { traits, method }: DocumentedRoute): void {
  const tag = traits.isRevisioned ? ETAG : traits.isTagged ? CONTENT_ETAG : null;
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    if (status.startsWith('2')) {
      const headers = { ...tag, ...(status === '201' && LOCATION) };
      response.headers = { ...response.headers, ...headers };
    }
  }
  if (tag !== null && method === RequestMethod.GET) {
    operation.responses['304'] = { description: 'The copy named in `If-None-Match` is current.', headers: tag };
    operation.parameters = [...(operation.parameters ?? []), IF_NONE_MATCH];
  }
}

const JSON_TYPE = 'application/json';

type Example = Record<string, unknown>;

/**
 * Completes the schema of an operation's body, which takes no unknown members, and adds its examples. A body that is
 * documented with examples has been described in full.
 */
export function completeRequestBody(
  document: OpenAPIObject,
  { requestBody }: OperationObject,
  examples: BodyExamples | undefined,
): void {
  const media = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;
  const schema = schemaOf(document, media?.schema);
  if (media === undefined || schema === undefined || media.examples !== undefined) return;
  close(document, schema);
  const usual = exampleOfMembers(schema);
  if (examples === undefined) {
    media.example = usual;
  } else {
    const named = Object.entries(examples).map(([name, different]) => [name, { value: { ...usual, ...different } }]);
    media.examples = Object.fromEntries(named) as Record<string, { value: Example }>;
  }
}

/** Forbids unknown members in the schema and in those of the items in its lists. */
function close(document: OpenAPIObject, schema: SchemaObject): void {
  schema.additionalProperties = false;
  for (const member of Object.values(schema.properties ?? {})) {
    const items = 'items' in member ? schemaOf(document, member.items) : undefined;
    if (items !== undefined) items.additionalProperties = false;
  }
}

function schemaOf(
  document: OpenAPIObject,
  reference: SchemaObject | ReferenceObject | undefined,
): SchemaObject | undefined {
  const name = reference !== undefined && '$ref' in reference ? reference.$ref.split('/').at(-1) : undefined;
  const schema = document.components?.schemas?.[name ?? ''];
  return schema === undefined || '$ref' in schema ? undefined : schema;
}

/** Members without an example of their own are omitted: they are optional. */
function exampleOfMembers({ properties = {} }: SchemaObject): Example {
  const members = Object.entries<SchemaObject | ReferenceObject>(properties);
  return Object.fromEntries(
    members.flatMap(([name, member]) => ('example' in member ? [[name, member.example as unknown]] : [])),
  );
}
