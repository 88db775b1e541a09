import { RequestMethod } from '@nestjs/common';
import type { HeadersObject, OpenAPIObject, OperationObject, ParameterObject, ResponseObject } from '@nestjs/swagger';
import type { DocumentedRoute } from './documented-route';
import { addErrorResponses, errorCodesOf } from './error-responses';

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
  description: 'ETag of a copy the client has (one, a list, or `*`): 304 when it is current.',
};
const LOCATION: HeadersObject = { Location: { schema: { type: 'string' }, description: 'Path of the new record.' } };

/** Headers of every answer, by name, for the document's components. */
export const COMMON_HEADERS: HeadersObject = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Id of the request in answers, logs and audit entries.' },
  'X-RateLimit-Limit': { schema: { type: 'integer' }, description: 'Requests allowed per window.' },
  'X-RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Requests left in this window.' },
  'X-RateLimit-Reset': { schema: { type: 'integer' }, description: 'Unix time in seconds at which the window resets.' },
};

/** Says of every operation what the edge adds to it: its errors, its headers, and whether it needs the key. */
export function completeOperations(document: OpenAPIObject, routes: ReadonlyMap<string, DocumentedRoute>): void {
  for (const item of Object.values(document.paths)) {
    for (const operation of METHODS.flatMap((method) => item[method] ?? [])) {
      const route = routes.get(operation.operationId ?? '');
      if (route !== undefined) {
        complete(operation, route);
      }
    }
  }
}

function complete(operation: OperationObject, route: DocumentedRoute): void {
  if (route.traits.isPublic) {
    operation.security = [];
  }
  describeRevision(operation, route);
  addErrorResponses(operation.responses, errorCodesOf(route));
  for (const response of Object.values(operation.responses) as ResponseObject[]) {
    response.headers = { ...response.headers, ...commonHeaderReferences() };
  }
}

function describeRevision(operation: OperationObject, { traits, method }: DocumentedRoute): void {
  const headers = { ...(traits.isRevisioned && ETAG), ...(traits.creates && LOCATION) };
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    if (status.startsWith('2')) {
      response.headers = { ...response.headers, ...headers };
    }
  }
  if (traits.isRevisioned && method === RequestMethod.GET) {
    operation.responses['304'] = { description: 'The copy named in `If-None-Match` is current.', headers: ETAG };
    operation.parameters = [...(operation.parameters ?? []), IF_NONE_MATCH];
  }
}

function commonHeaderReferences(): HeadersObject {
  return Object.fromEntries(
    Object.keys(COMMON_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
