import {
  applyDecorators,
  SetMetadata,
  type CustomDecorator,
  type Type,
  type ExecutionContext,
  HttpStatus,
  RequestMethod,
} from '@nestjs/common';
import type { Request } from 'express';
import { METHOD_METADATA, HTTP_CODE_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { MetadataScanner } from '@nestjs/core';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import type { DomainError } from '../../core/errors/domain-error';
import type { Caller, Scope } from '../../ledger/caller';
import type { AnyErrorCode } from '../../core/errors/error-codes';

export const RATE_LIMIT_BUCKET = 'http:rate-limit-bucket';
export const IS_UNCOUNTED = 'http:uncounted';
/** All routes that name no bucket of their own share this one. */
export const SHARED_BUCKET = 'shared';

/**
 * Counts a route separately, under the same limit: probes must not use up the requests of other clients on their host.
 */
export const RateLimitBucket = (name: string): CustomDecorator => SetMetadata(RATE_LIMIT_BUCKET, name);

/** A route that is neither counted nor refused by the rate limit: for files that are the same for everybody. */
export const Uncounted = (): CustomDecorator => SetMetadata(IS_UNCOUNTED, true);

export const ROUTE_SCOPES = 'http:scopes';

/**
 * What a caller needs for a route: one of the scopes, none in particular, not even a key, or nothing since there is no
 * such route.
 */
export type RouteScopes = readonly Scope[] | 'any' | 'public' | 'unrouted';

/** A route that names no scope needs this: a forgotten one is open only to callers who may do everything. */
export const UNNAMED: RouteScopes = ['admin'];

/** The route, or every route of the controller, needs one of these scopes; refusals name the first. */
export const RequiresScope = (...scopes: readonly [Scope, ...Scope[]]): MethodDecorator & ClassDecorator =>
  opensTo(scopes);

/** The route is open to every caller, whatever its scopes. */
export const AnyScope = (): MethodDecorator & ClassDecorator => opensTo('any');

/** The route, or every route of the controller, needs no API key. */
export const Public = (): MethodDecorator & ClassDecorator => opensTo('public');

/** There is no such route: every caller may learn that, whatever its scopes. */
export const Unrouted = (): MethodDecorator & ClassDecorator => opensTo('unrouted');

function opensTo(scopes: RouteScopes): MethodDecorator & ClassDecorator {
  return applyDecorators(refuseSecondMark, SetMetadata(ROUTE_SCOPES, scopes));
}

/** Otherwise the upper one of two marks on a route would win unnoticed. */
function refuseSecondMark(target: object, name?: string | symbol, method?: PropertyDescriptor): void {
  const marked = (method?.value ?? target) as Type;
  if (!Reflect.hasOwnMetadata(ROUTE_SCOPES, marked)) return;
  const place = name === undefined ? marked.name : `${target.constructor.name}.${String(name)}`;
  throw new Error(`${place} says twice who may call it: keep one of @RequiresScope('…'), @AnyScope() and @Public().`);
}

export const ADMISSION_RULE = 'http:admission-rule';

/** What besides scopes decides whether a caller is admitted to a route; evaluated before the body is read. */
export interface AdmissionRule {
  /** Null: it is admitted. */
  refusalOf(caller: Caller, request: Request): DomainError | null | Promise<DomainError | null>;
}

/** The route asks a provider whether it admits a caller that has the right scope. */
export const AdmittedBy = (rule: Type<AdmissionRule>): CustomDecorator => SetMetadata(ADMISSION_RULE, rule);

export const OWN_AGENT_MEMBER = 'http:own-agent-member';

/** The member of the body that names the acting agent. A caller bound to an agent may omit it. */
export const OwnAgentIn = (member: string): CustomDecorator => SetMetadata(OWN_AGENT_MEMBER, member);

export const ANSWERS_SECRET = 'http:answers-secret';

/** The route returns a secret, which is stored nowhere: it takes no `Idempotency-Key`. */
export const AnswersSecret = (): CustomDecorator => SetMetadata(ANSWERS_SECRET, true);

export const BODY_LIMIT = 'http:body-limit';

/** The settings that limit body sizes. */
export type BodyLimitSetting = 'bodyLimit' | 'planBodyLimit';

/** The route has a body limit setting of its own. */
export const BodyLimit = (setting: BodyLimitSetting): CustomDecorator => SetMetadata(BODY_LIMIT, setting);

export const MOST_LISTED_VALUES = 'http:most-listed-values';

/**
 * The body has lists: each item may have as many values as other bodies, and the whole body this many. See `extentOf`.
 */
export const ListedValues = (most: number): CustomDecorator => SetMetadata(MOST_LISTED_VALUES, most);

export const IGNORES_IDEMPOTENCY_KEY = 'http:ignores-idempotency-key';

/** The route only reads: an `Idempotency-Key` is validated, and otherwise ignored. */
export const IgnoresIdempotencyKey = (): CustomDecorator => SetMetadata(IGNORES_IDEMPOTENCY_KEY, true);

export const LEAVES_INPUT_UNREAD = 'http:leaves-input-unread';

/** The route answers without reading body and query, such as the one for unknown paths. */
export const LeavesInputUnread = (): CustomDecorator => SetMetadata(LEAVES_INPUT_UNREAD, true);

export const REPEATABLE_PARAMETERS = 'http:repeatable-parameters';

/** Query parameters that may be repeated: their values are lists. */
export const RepeatableParameters = (...names: readonly string[]): CustomDecorator =>
  SetMetadata(REPEATABLE_PARAMETERS, new Set(names));

export const IS_LIST = 'http:is-list';

/** The route reads many records: few such requests are worked on at a time. */
export const IsList = (): CustomDecorator => SetMetadata(IS_LIST, true);

/** Set by `@IfMatch`. */
export const CHECKS_IF_MATCH = 'http:checks-if-match';

/** Set by `@LastEventId`. */
export const CHECKS_LAST_EVENT_ID = 'http:checks-last-event-id';

export const IS_REVISIONED = 'http:revisioned';

/**
 * The route answers with a record that has a `revision`, which becomes a strong ETag; a GET honours `If-None-Match`.
 */
export const Revisioned = (): CustomDecorator => SetMetadata(IS_REVISIONED, true);

export const API_ERRORS = 'http:api-errors';

/**
 * Documents the errors of a route, or of every route of a controller, beyond those that every route has (its key, its
 * input, the rate limit, our own).
 */
export const ApiErrors = (...codes: readonly AnyErrorCode[]): CustomDecorator => SetMetadata(API_ERRORS, codes);

export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** The methods of a controller that handle a route, with their names. */
export function handlersOf({ prototype }: Type): [name: string, handler: Handler][] {
  const methods = prototype as Record<string, Handler>;
  return new MetadataScanner().getAllMethodNames(prototype as object).flatMap((name): [string, Handler][] => {
    const method = methods[name];
    return method !== undefined && Reflect.hasMetadata(METHOD_METADATA, method) ? [[name, method]] : [];
  });
}

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
  /** Undefined: the body may have as many values as most. */
  readonly mostListedValues: number | undefined;
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
    mostListedValues: marked(MOST_LISTED_VALUES) as number | undefined,
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
