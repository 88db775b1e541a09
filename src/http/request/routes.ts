import {
  applyDecorators,
  createParamDecorator,
  type Type,
  type ExecutionContext,
  HttpStatus,
  RequestMethod,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import type { Configuration } from '../../core/config/configuration';
import { DomainError } from '../../core/errors/domain-error';
import type { AnyErrorCode } from '../../core/errors/error-codes';
import type { Caller, Scope } from '../../ledger/kinds/caller';
import type { JsonObject } from '../../core/json/json-value';
import { HTTP_CODE_METADATA, METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';

/** All routes that name no bucket of their own share this one. */
export const SHARED_BUCKET = 'shared';

/**
 * Who is admitted: callers with one of certain scopes, any caller, everyone, or no one, as there is no such route.
 */
export type RouteScopes = readonly Scope[] | 'any' | 'public' | 'unrouted';

/** What besides scopes decides whether a caller is admitted to a route; evaluated before the body is read. */
export interface AdmissionRule {
  /** Null: it is admitted. */
  refusalOf(caller: Caller, request: Request): DomainError | null | Promise<DomainError | null>;
}

/** The settings that limit body sizes. */
type BodyLimitSetting = 'bodyLimit' | 'planBodyLimit';

/** A header that a handler takes; what is wrong with it is reported with the other faults of the request. */
interface TakenHeader {
  readonly name: string;
  readonly description: string;
  /** What it must be, as the message of a fault. */
  readonly expected: string;
  /** Undefined: it is not what it must be. */
  readonly read: (header: string | undefined) => unknown;
}

/** A request that is held back, as its route describes it to the second person. */
export interface HeldInput {
  readonly params: Readonly<Record<string, string | undefined>>;
  /** As it was sent. */
  readonly body: JsonObject;
}

/** What holds for a route whose effects need a second person, with `FOUR_EYES`. */
export interface SecondPersonRule {
  /** What the request does, in a sentence without a final stop. @param result what the handler's write returned */
  summary(input: HeldInput, result: unknown): string;
  /** False if this request takes effect at once; without it, all are held back. @param result as for `summary` */
  isHeld?(input: HeldInput, caller: Caller, result: unknown): boolean;
  /** The body as those who decide may see it; without it, as it was sent. */
  visibleBody?(body: JsonObject, result: unknown): JsonObject;
  /** True if it changes which policies are in force. */
  readonly changesPolicies?: true;
  /** True if it may have an effect without an entry. */
  readonly writesAside?: true;
}

/** What decorators say about a route, or about every route of a controller; and what holds where they say nothing. */
class RouteMetadata {
  /** If it returns false, the route answers as if it did not exist. */
  readonly isServedWith: (settings: Configuration) => boolean = () => true;
  readonly rateLimitBucket: string = SHARED_BUCKET;
  /** Neither counted nor refused by the rate limit: for files that are the same for everybody. */
  readonly isUncounted: boolean = false;
  /** A route that names no scope needs `admin`: a forgotten one is open only to callers who may do everything. */
  readonly scopes: RouteScopes = ['admin'];
  /** A route that is open to every caller admits keys of a scope that they have alone only if it is listed here. */
  readonly admittedLoneScopes: readonly Scope[] = [];
  /** Tokens that were issued for a gateway are taken there, and nowhere else. */
  readonly takesGatewayTokens: boolean = false;
  readonly admissionRule: Type<AdmissionRule> | undefined = undefined;
  /** The member of the body that names the acting agent. */
  readonly ownAgentMember: string | undefined = undefined;
  /** The answer has a secret, which is stored nowhere: the route takes no `Idempotency-Key`. */
  readonly answersSecret: boolean = false;
  readonly bodyLimit: BodyLimitSetting = 'bodyLimit';
  /**
   * The body has lists: each item may have as many values as other bodies, and the whole body this many. Undefined: it
   * has as many as most.
   */
  readonly mostListedValues: number | undefined = undefined;
  /** The body becomes a rule, or says who decides: a name may be given only once in an object. */
  readonly refusesRepeatedNames: boolean = false;
  /** The route only reads: an `Idempotency-Key` is validated, and otherwise ignored. */
  readonly ignoresIdempotencyKey: boolean = false;
  /** Bodies and answers have the media type of SCIM (RFC 7644). */
  readonly isScim: boolean = false;
  /** The body is a form, taken as it was sent, as the member `form`: its signature covers these bytes. */
  readonly takesForm: boolean = false;
  /**
   * Gateways ask there about requests of their clients. With an `X-API-Key`, `Authorization` is meant for somebody else,
   * and a refusal is explained in its headers, as gateways look at no body.
   */
  readonly isForGateways: boolean = false;
  /** False: the route answers without reading body and query, such as the one for unknown paths. */
  readonly readsInput: boolean = true;
  /** Query parameters that may be repeated: their values are lists. */
  readonly repeatable: readonly string[] = [];
  /** The route reads many records: few such requests are worked on at a time. */
  readonly isList: boolean = false;
  readonly isRevisioned: boolean = false;
  /** Undefined: one person is enough. */
  readonly secondPerson: SecondPersonRule | undefined = undefined;
  /** The route sets an ETag of its own, of what it answers, and honours `If-None-Match`. */
  readonly isTagged: boolean = false;
  readonly headers: readonly TakenHeader[] = [];
  readonly errors: readonly AnyErrorCode[] = [];
}

const MARKS = 'http:route-marks';

/** The marks of a handler or controller, and of the classes that a controller extends. */
export function marksOf(target: object): Partial<RouteMetadata> {
  const own = (Reflect.getOwnMetadata(MARKS, target) ?? {}) as Partial<RouteMetadata>;
  const parent = Object.getPrototypeOf(target) as object | null;
  return parent === null ? own : { ...marksOf(parent), ...own };
}

/** Marks a route, or every route of a controller. */
export function SetRouteMetadata(marks: Partial<RouteMetadata>): MethodDecorator & ClassDecorator {
  return (target: object, _name?: string | symbol, method?: PropertyDescriptor): void => {
    const handler = (method?.value ?? target) as object;
    Reflect.defineMetadata(MARKS, { ...(Reflect.getOwnMetadata(MARKS, handler) as object), ...marks }, handler);
  };
}

/**
 * Counts a route separately, under the same limit: probes must not use up the requests of other clients on their host.
 */
export const RateLimitBucket = (name: string): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ rateLimitBucket: name });

/** The route, or every route of the controller, needs one of these scopes; refusals name the first. */
export const RequiresScope = (...scopes: readonly [Scope, ...Scope[]]): MethodDecorator & ClassDecorator =>
  opensTo(scopes);

/** The route is open to every caller, whatever its scopes, except keys of a scope that they have alone. */
export const AnyScope = (): MethodDecorator & ClassDecorator => opensTo('any');

/** The route, or every route of the controller, needs no API key. */
export const Public = (): MethodDecorator & ClassDecorator => opensTo('public');

function opensTo(scopes: RouteScopes): MethodDecorator & ClassDecorator {
  return applyDecorators(refuseSecondMark, SetRouteMetadata({ scopes }));
}

/** Otherwise the first of two contradictory decorators would win unnoticed. */
function refuseSecondMark(target: object, name?: string | symbol, method?: PropertyDescriptor): void {
  const controller = (method?.value ?? target) as Type;
  const own = Reflect.getOwnMetadata(MARKS, controller) as Partial<RouteMetadata> | undefined;
  if (own?.scopes === undefined) return;
  const place = name === undefined ? controller.name : `${target.constructor.name}.${String(name)}`;
  throw new Error(`${place} says twice who may call it: keep one of @RequiresScope('…'), @AnyScope() and @Public().`);
}

/** A provider decides whether the route admits a caller that has the scope. */
export const AdmittedBy = (rule: Type<AdmissionRule>): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ admissionRule: rule });

/** The member of the body that names the acting agent. A caller bound to an agent may omit it. */
export const OwnAgentIn = (member: string): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ ownAgentMember: member });

/** Name of the header with the id of the approved decision on a change. */
export const CHANGE_HEADER = 'Change';
/** Name of the header with the reason why a change cannot wait. */
export const BREAK_GLASS_HEADER = 'Break-Glass';

/** With `FOUR_EYES`, requests of the route take effect once a second person has approved them. */
export const NeedsSecondPerson = (rule: SecondPersonRule): MethodDecorator =>
  applyDecorators(
    SetRouteMetadata({ secondPerson: rule }),
    ApiHeader({
      name: CHANGE_HEADER,
      required: false,
      description: 'Id of the approved decision on this change. See [Changes that need a second person](four-eyes.md).',
    }),
    ApiHeader({
      name: BREAK_GLASS_HEADER,
      required: false,
      description: 'In an emergency, with `admin`: why it cannot wait, in 10 to 500 characters, percent-encoded.',
    }),
  );

/** Headers of a 403 to a gateway. */
export const REASON_HEADER = 'X-Reason';
export const DECISION_ID_HEADER = 'X-Decision-Id';

/**
 * The route answers with a record that has a `revision`, which becomes a strong ETag; a GET honours `If-None-Match`.
 */
export const Revisioned = (): MethodDecorator & ClassDecorator => SetRouteMetadata({ isRevisioned: true });

/**
 * Documents the errors of a route, or of every route of a controller, beyond those that every route has (its key, its
 * input, the rate limit, our own) and those that follow from a parameter of its path (404) and from its body (409).
 */
export const ApiErrors = (...codes: readonly AnyErrorCode[]): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ errors: codes });

/** A parameter of a handler that is read from a header, and described in the API document. */
export function HeaderParameter(header: TakenHeader): ParameterDecorator {
  const { name, description, read } = header;
  const decorator = createParamDecorator((_data: unknown, context: ExecutionContext) => {
    const [{ headers }] = context.getArgs<[Request]>();
    return read(headers[name.toLowerCase()] as string | undefined);
  });
  return (target, method, index) => {
    decorator()(target, method, index);
    const handler = method === undefined ? undefined : Object.getOwnPropertyDescriptor(target, method);
    if (method === undefined || handler === undefined) return;
    const headers = [...(marksOf(handler.value as object).headers ?? []), header];
    applyDecorators(SetRouteMetadata({ headers }), ApiHeader({ name, required: false, description }))(
      target,
      method,
      handler,
    );
  };
}

/** For a path that no route has, or whose route is switched off. */
export function routeNotFound(): DomainError {
  return new DomainError('NOT_FOUND', 'There is nothing at this path.');
}

export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** Every method of a controller that handles a route. */
export function handlersIn(discovery: DiscoveryService): readonly (readonly [Type, Handler])[] {
  return discovery.getControllers().flatMap(({ metatype }) => {
    const controller = metatype as Type;
    const methods = controller.prototype as Readonly<Record<string, Handler>>;
    const names = new MetadataScanner().getAllMethodNames(methods);
    const handlers = names.flatMap((name) => methods[name] ?? []);
    return handlers
      .filter((method) => Reflect.hasMetadata(METHOD_METADATA, method))
      .map((handler) => [controller, handler] as const);
  });
}

/** How a handler takes a part of the request. */
export interface TakenPart {
  /** False: not at all. */
  readonly isTaken: boolean;
  /** Whether the handler takes it as a whole, and not only some members. */
  readonly isWhole: boolean;
  /** The members that it takes one by one. */
  readonly names: ReadonlySet<string>;
  /** The class of which it takes an instance; null: it takes plain values. */
  readonly dto: Type | null;
}

/** What the HTTP layer has to know about a route; read from its decorators once. */
export interface RouteTraits extends RouteMetadata {
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
export function routeTemplate({ route: matchedRoute }: Request): string | null {
  const route = matchedRoute as { readonly path?: unknown } | undefined;
  const template = typeof route?.path === 'string' ? route.path : '*';
  return template.includes('*') ? null : template;
}

/** Reads a handler's decorators, falling back to its controller's. */
export function readTraits(controller: Type, handler: Handler): RouteTraits {
  const marks = { ...new RouteMetadata(), ...marksOf(controller), ...marksOf(handler) };
  return {
    ...marks,
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

/** Types of parameters that are not DTOs: plain values, and what TypeScript emits for an interface. */
const PLAIN: ReadonlySet<unknown> = new Set([undefined, String, Boolean, Number, Array, Object, Buffer, Date]);

/** How a handler takes a part, by its parameters, which Nest keeps under `<part>:<index>`. */
function takenPart(controller: Type, handler: Handler, part: RouteParamtypes): TakenPart {
  const all = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as Readonly<
    Record<string, { readonly data?: unknown }>
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler.name) ??
    []) as readonly (Type | undefined)[];
  const keys = Object.keys(all).filter((key) => key.startsWith(`${part}:`));
  const names = new Set(keys.map((key) => all[key]?.data).filter((data) => typeof data === 'string'));
  const whole = keys.find((key) => typeof all[key]?.data !== 'string');
  const type = whole === undefined ? undefined : types[Number(whole.slice(whole.indexOf(':') + 1))];
  const dto = type === undefined || PLAIN.has(type) ? null : type;
  return { isTaken: keys.length > 0, isWhole: whole !== undefined, names, dto };
}
