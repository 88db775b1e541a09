import type { RequestMethod, Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants';
import type { DiscoveryService } from '@nestjs/core';
import type { HeadersObject } from '@nestjs/swagger';
import type { AnyErrorCode } from '../../core/errors/error-codes';
import { type Handler, handlersOf, readTraits, type RouteTraits } from '../request/route-traits';
import { marksOf } from '../request/routes';
import { API_EXAMPLES, type BodyExamples } from './documentation.decorators';

/** What the document says about a route beyond Swagger's own decorators. */
export interface DocumentedRoute {
  readonly traits: RouteTraits;
  readonly method: RequestMethod;
  readonly errors: readonly AnyErrorCode[];
  /** Undefined: the only example is built from those of the body's members. */
  readonly examples: BodyExamples | undefined;
}

/** Name of an operation in the document, such as `entities_create`. */
export function operationId(controller: string, method: string): string {
  const name = controller.replace(/Controller$/, '');
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}_${method}`;
}

/** All routes of the application by operation id. */
export function documentedRoutes(discovery: DiscoveryService): Map<string, DocumentedRoute> {
  const routes = new Map<string, DocumentedRoute>();
  for (const { metatype } of discovery.getControllers()) {
    const controller = metatype as Type;
    for (const [name, handler] of handlersOf(controller)) {
      routes.set(operationId(controller.name, name), describe(controller, handler));
    }
  }
  return routes;
}

function describe(controller: Type, handler: Handler): DocumentedRoute {
  return {
    traits: readTraits(controller, handler),
    method: Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod,
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
