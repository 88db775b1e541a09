import { type ExecutionContext, HttpStatus, RequestMethod, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import type { Request } from 'express';
import type { Handler } from './route-handlers';
import {
  ADMISSION_RULE,
  type AdmissionRule,
  ANSWERS_SECRET,
  BODY_LIMIT,
  type BodyLimitSetting,
  CHECKS_IF_MATCH,
  CHECKS_LAST_EVENT_ID,
  IGNORES_IDEMPOTENCY_KEY,
  IS_LIST,
  IS_REVISIONED,
  IS_UNCOUNTED,
  LEAVES_INPUT_UNREAD,
  OWN_AGENT_MEMBER,
  RATE_LIMIT_BUCKET,
  REPEATABLE_PARAMETERS,
  ROUTE_SCOPES,
  type RouteScopes,
  SHARED_BUCKET,
  UNNAMED,
} from './route-marks';

/** How a handler takes a part of the request: as a whole, member by member (their names), or not at all. */
export type TakenPart = 'whole' | ReadonlySet<string> | 'none';

/** What the HTTP layer has to know about a route; read from its decorators once. */
export interface RouteTraits {
  readonly isPublic: boolean;
  readonly scopes: RouteScopes;
  /** False: no scope was named, so the narrowest applies. */
  readonly namesScopes: boolean;
  readonly admissionRule: Type<AdmissionRule> | undefined;
  /** The member of the body that names the acting agent. */
  readonly ownAgentMember: string | undefined;
  /** For requests without a valid key. */
  readonly rateLimitBucket: string;
  /** For those with one. */
  readonly keyHoldersBucket: string;
  readonly isUncounted: boolean;
  readonly readsInput: boolean;
  readonly body: TakenPart;
  readonly query: TakenPart;
  readonly repeatable: ReadonlySet<string>;
  readonly creates: boolean;
  readonly isList: boolean;
  readonly isRevisioned: boolean;
  readonly checksIfMatch: boolean;
  readonly checksLastEventId: boolean;
  readonly answersSecret: boolean;
  readonly bodyLimit: BodyLimitSetting;
  /** False for routes that keep no answers: nothing is replayed there. */
  readonly keepsAnswers: boolean;
}

interface RouteArgument {
  readonly data?: unknown;
}

const NOT_REPEATABLE: ReadonlySet<string> = new Set();
const traitsByController = new WeakMap<Type, Map<Handler, RouteTraits>>();

/** The traits of the route that a request has reached. */
export function routeTraits(context: ExecutionContext): RouteTraits {
  const controller = context.getClass();
  const handler = context.getHandler();
  const known = traitsByController.get(controller)?.get(handler);
  return known ?? remember(controller, handler);
}

/** Template such as `/api/v1/entities/:id`; null when no route has the path. */
export function routeTemplate({ route: reached }: Request): string | null {
  const route = reached as { readonly path?: unknown } | undefined;
  const template = typeof route?.path === 'string' ? route.path : '*';
  return template.includes('*') ? null : template;
}

function remember(controller: Type, handler: Handler): RouteTraits {
  const traits = readTraits(controller, handler);
  const ofController = traitsByController.get(controller) ?? new Map<Handler, RouteTraits>();
  ofController.set(handler, traits);
  traitsByController.set(controller, ofController);
  return traits;
}

/** Reads a handler's decorators, falling back to its controller's. */
export function readTraits(controller: Type, handler: Handler): RouteTraits {
  const marked = (key: string): unknown => Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
  const scopes = marked(ROUTE_SCOPES) as RouteScopes | undefined;
  const bucket = (marked(RATE_LIMIT_BUCKET) as string | undefined) ?? SHARED_BUCKET;
  return {
    isPublic: scopes === 'public',
    scopes: scopes ?? UNNAMED,
    namesScopes: scopes !== undefined,
    admissionRule: marked(ADMISSION_RULE) as Type<AdmissionRule> | undefined,
    ownAgentMember: marked(OWN_AGENT_MEMBER) as string | undefined,
    rateLimitBucket: bucket,
    keyHoldersBucket: `${bucket}-with-key`,
    isUncounted: marked(IS_UNCOUNTED) === true,
    readsInput: marked(LEAVES_INPUT_UNREAD) !== true,
    body: takenPart(controller, handler, RouteParamtypes.BODY),
    query: takenPart(controller, handler, RouteParamtypes.QUERY),
    repeatable: (marked(REPEATABLE_PARAMETERS) as ReadonlySet<string> | undefined) ?? NOT_REPEATABLE,
    creates: answersCreated(handler),
    isList: marked(IS_LIST) === true,
    isRevisioned: marked(IS_REVISIONED) === true,
    checksIfMatch: Reflect.hasMetadata(CHECKS_IF_MATCH, controller, handler.name),
    checksLastEventId: Reflect.hasMetadata(CHECKS_LAST_EVENT_ID, controller, handler.name),
    answersSecret: marked(ANSWERS_SECRET) === true,
    bodyLimit: (marked(BODY_LIMIT) as BodyLimitSetting | undefined) ?? 'bodyLimit',
    keepsAnswers: marked(ANSWERS_SECRET) !== true && marked(IGNORES_IDEMPOTENCY_KEY) !== true,
  };
}

function answersCreated(handler: Handler): boolean {
  const status: unknown = Reflect.getMetadata(HTTP_CODE_METADATA, handler);
  const isPost = Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.POST;
  return status === HttpStatus.CREATED || (status === undefined && isPost);
}

function takenPart(controller: Type, handler: Handler, part: RouteParamtypes): TakenPart {
  const names = new Set<string>();
  for (const { data } of routeArguments(controller, handler, part)) {
    if (typeof data !== 'string') {
      return 'whole';
    }
    names.add(data);
  }
  return names.size === 0 ? 'none' : names;
}

/** The parameters of a handler that take the given part; Nest keeps them under `<part>:<index>`. */
function routeArguments(controller: Type, handler: Handler, part: RouteParamtypes): RouteArgument[] {
  const all = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) as
    Readonly<Record<string, RouteArgument>> | undefined;
  const ofPart = Object.entries(all ?? {}).filter(([key]) => key.startsWith(`${part}:`));
  return ofPart.map(([, argument]) => argument);
}
