import type { RequestMethod, Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants';
import type { DiscoveryService } from '@nestjs/core';
import type { AnyErrorCode } from '../errors/module-error-code';
import { API_ERRORS } from '../http/answers/api-errors.decorator';
import { type Handler, handlersOf } from '../http/request/route-handlers';
import { readTraits, type RouteTraits } from '../http/request/route-traits';
import { API_EXAMPLES, type BodyExamples } from './api-examples.decorator';

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
    errors: [controller, handler].flatMap(declaredErrors),
    examples: Reflect.getMetadata(API_EXAMPLES, handler) as BodyExamples | undefined,
  };
}

function declaredErrors(target: object): readonly AnyErrorCode[] {
  return (Reflect.getMetadata(API_ERRORS, target) ?? []) as readonly AnyErrorCode[];
}
