import { type ExecutionContext, HttpStatus, RequestMethod, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { MetadataScanner } from '@nestjs/core';
import type { Request } from 'express';
import { marksOf, RouteMarks } from './routes';

export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** The methods of a controller that handle a route, with their names. */
export function handlersOf({ prototype }: Type): [name: string, handler: Handler][] {
  const methods = prototype as Record<string, Handler>;
  return new MetadataScanner().getAllMethodNames(prototype as object).flatMap((name): [string, Handler][] => {
    const method = methods[name];
    return method !== undefined && Reflect.hasMetadata(METHOD_METADATA, method) ? [[name, method]] : [];
  });
}

/** How a handler takes a part of the request. */
export interface TakenPart {
  /** False: not at all. */
  readonly isTaken: boolean;
  /** Not only some members. */
  readonly isWhole: boolean;
  /** The members that it takes one by one. */
  readonly names: ReadonlySet<string>;
  /** The class of which it takes an instance; null: it takes plain values. */
  readonly dto: Type | null;
}

/** What the HTTP layer has to know about a route; read from its decorators once. */
export interface RouteTraits extends RouteMarks {
  /** False: no scope was named, so the narrowest applies. */
  readonly namesScopes: boolean;
  readonly isPublic: boolean;
  /** False: nothing is replayed there. */
  readonly keepsAnswers: boolean;
  /** For requests with a valid key. */
  readonly keyHoldersBucket: string;
  readonly body: TakenPart;
  readonly query: TakenPart;
  readonly creates: boolean;
}

const traitsByController = new WeakMap<Type, Map<Handler, RouteTraits>>();

/** The traits of the route that a request has reached. */
export function routeTraits(context: ExecutionContext): RouteTraits {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const ofController = traitsByController.get(controller) ?? new Map<Handler, RouteTraits>();
  traitsByController.set(controller, ofController);
  const traits = ofController.get(handler) ?? readTraits(controller, handler);
  ofController.set(handler, traits);
  return traits;
}

/** Template such as `/api/v1/entities/:id`; null when no route has the path. */
export function routeTemplate({ route: reached }: Request): string | null {
  const route = reached as { readonly path?: unknown } | undefined;
  const template = typeof route?.path === 'string' ? route.path : '*';
  return template.includes('*') ? null : template;
}

/** Reads a handler's decorators, falling back to its controller's. */
export function readTraits(controller: Type, handler: Handler): RouteTraits {
  const given = { ...marksOf(controller), ...marksOf(handler) };
  const marks = { ...new RouteMarks(), ...given };
  return {
    ...marks,
    namesScopes: given.scopes !== undefined,
    isPublic: marks.scopes === 'public',
    keepsAnswers: !marks.answersSecret && !marks.ignoresIdempotencyKey,
    keyHoldersBucket: `${marks.rateLimitBucket}-with-key`,
    body: takenPart(controller, handler, RouteParamtypes.BODY),
    query: takenPart(controller, handler, RouteParamtypes.QUERY),
    creates: answersCreated(handler),
  };
}

function answersCreated(handler: Handler): boolean {
  const status: unknown = Reflect.getMetadata(HTTP_CODE_METADATA, handler);
  const isPost = Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.POST;
  return status === HttpStatus.CREATED || (status === undefined && isPost);
}

/** Types of parameters that are no DTOs: those of plain values, and what TypeScript writes for an interface. */
const PLAIN: ReadonlySet<unknown> = new Set([undefined, String, Boolean, Number, Array, Object, Buffer, Date]);

/** How a handler takes a part, by its parameters, which Nest keeps under `<part>:<index>`. */
function takenPart(controller: Type, handler: Handler, part: RouteParamtypes): TakenPart {
  const all = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as Readonly<
    Record<string, { readonly data?: unknown }>
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler.name) ??
    []) as readonly (Type | undefined)[];
  const taken = Object.keys(all).filter((key) => key.startsWith(`${part}:`));
  const names = new Set(taken.map((key) => all[key]?.data).filter((data) => typeof data === 'string'));
  const whole = taken.find((key) => typeof all[key]?.data !== 'string');
  const type = whole === undefined ? undefined : types[Number(whole.slice(whole.indexOf(':') + 1))];
  const dto = type === undefined || PLAIN.has(type) ? null : type;
  return { isTaken: taken.length > 0, isWhole: whole !== undefined, names, dto };
}
