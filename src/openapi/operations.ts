import { RequestMethod } from '@nestjs/common';
import type { HeadersObject, OpenAPIObject, OperationObject, ParameterObject, ResponseObject } from '@nestjs/swagger';
import type { RouteScopes } from '../http/request/route-marks';
import { commonHeaderReferences, REPLAYED } from './documented-headers';
import type { DocumentedRoute } from './documented-route';
import { addErrorResponses, errorCodesOf } from './error-responses';
import { completeRequestBody } from './request-bodies';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const ETAG: HeadersObject = {
  ETag: {
    schema: { type: 'string' },
    example: '"1"',
    description: 'The revision, for `If-Match` and `If-None-Match`.',
  },
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
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    if (status.startsWith('2')) {
      const headers = { ...(traits.isRevisioned && ETAG), ...(status === '201' && LOCATION) };
      response.headers = { ...response.headers, ...headers };
    }
  }
  if (traits.isRevisioned && method === RequestMethod.GET) {
    operation.responses['304'] = { description: 'The copy named in `If-None-Match` is current.', headers: ETAG };
    operation.parameters = [...(operation.parameters ?? []), IF_NONE_MATCH];
  }
}
