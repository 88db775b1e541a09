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
 * Callers that are admitted: those with one of certain scopes, any caller, everyone, or no one, because there is no
 * such route.
 */
export type RouteScopes = readonly Scope[] | 'any' | 'public' | 'unrouted';

/** A rule, in addition to scopes, for who is admitted to a route. It runs before the body is read. */
export interface AdmissionRule {
  /** Returns the refusal; null if the caller is admitted. */
  refusalOf(caller: Caller, request: Request): DomainError | null | Promise<DomainError | null>;
}

/** The settings that limit body sizes. */
type BodyLimitSetting = 'bodyLimit' | 'planBodyLimit';

/** A header that a handler takes. Its faults are reported with the other faults of the request. */
interface TakenHeader {
  readonly name: string;
  readonly description: string;
  /** Expected value, as the message of a fault. */
  readonly expected: string;
  /** Parses the header; undefined if it is invalid. */
  readonly read: (header: string | undefined) => unknown;
}

/** Input of a request that is held back, by which its route describes the effect to the second person. */
export interface HeldInput {
  readonly params: Readonly<Record<string, string | undefined>>;
  /** The body as it was sent. */
  readonly body: JsonObject;
}

/** Rule of a route whose effects need a second person if `FOUR_EYES` is on. */
export interface SecondPersonRule {
  /**
   * Returns the effect of the request in a sentence without a final stop. @param result result of the handler's write
   */
  summary(input: HeldInput, result: unknown): string;
  /**
   * Returns false if this request takes effect at once; if missing, all requests are held back. @param result result of
   * the handler's write
   */
  isHeld?(input: HeldInput, caller: Caller, result: unknown): boolean;
  /** Returns the body for the deciders; if missing, they see the body as it was sent. */
  visibleBody?(body: JsonObject, result: unknown): JsonObject;
  /** True if the request changes the policies in force. */
  readonly changesPolicies?: true;
  /**
   * True if the request waits for a second person even in an emergency, because it decides who is told of an emergency.
   */
  readonly canWait?: true;
  /** True if the request may have an effect without an entry. */
  readonly writesAside?: true;
}

/** Properties that decorators set for a route, or for every route of a controller, with their defaults. */
class RouteMetadata {
  /** If it returns false, the route answers as if it did not exist. */
  readonly isServedWith: (settings: Configuration) => boolean = () => true;
  readonly rateLimitBucket: string = SHARED_BUCKET;
  /** True if the rate limit neither counts nor refuses the route: for files that are the same for everybody. */
  readonly isUncounted: boolean = false;
  /**
   * Required scopes. The default is `admin`, so that a route without a decorator is open only to callers who may do
   * everything.
   */
  readonly scopes: RouteScopes = ['admin'];
  /** Lone scopes whose keys are admitted to a route that is open to every other caller. */
  readonly admittedLoneScopes: readonly Scope[] = [];
  /** True if the route accepts tokens that were issued for a gateway; other routes refuse them. */
  readonly takesGatewayTokens: boolean = false;
  readonly admissionRule: Type<AdmissionRule> | undefined = undefined;
  /** Member of the body that names the acting agent. */
  readonly ownAgentMember: string | undefined = undefined;
  /** True if the response has a secret, which is not stored: the route takes no `Idempotency-Key`. */
  readonly answersSecret: boolean = false;
  readonly bodyLimit: BodyLimitSetting = 'bodyLimit';
  /**
   * Most values of a body with lists, if each item of them may have as many values as another body; undefined for the
   * usual bound.
   */
  readonly mostListedValues: number | undefined = undefined;
  /** True if a name may be given only once in an object, because the body becomes a rule, or names who decides. */
  readonly refusesRepeatedNames: boolean = false;
  /** True if a repetition does nothing more: an `Idempotency-Key` is validated, and otherwise ignored. */
  readonly ignoresIdempotencyKey: boolean = false;
  /** True if bodies and responses have the media type of SCIM (RFC 7644). */
  readonly isScim: boolean = false;
  /**
   * True if the body is a form. It is taken unparsed, as the member `form`, because its signature covers these bytes.
   */
  readonly takesForm: boolean = false;
  /**
   * True if gateways ask about requests of their clients. If there is an `X-API-Key`, `Authorization` belongs to
   * another recipient. Headers explain a refusal, because gateways ignore the body.
   */
  readonly isForGateways: boolean = false;
  /** False if the route responds without reading body and query, such as the route for unknown paths. */
  readonly readsInput: boolean = true;
  /** Query parameters that may be repeated; their values are lists. */
  readonly repeatable: readonly string[] = [];
  /** True if the route reads many records; few such requests run at a time. */
  readonly isList: boolean = false;
  readonly isRevisioned: boolean = false;
  /** Rule for the second person; undefined if one person is enough. */
  readonly secondPerson: SecondPersonRule | undefined = undefined;
  /** True if the route sets an ETag for its response itself, and honours `If-None-Match`. */
  readonly isTagged: boolean = false;
  readonly headers: readonly TakenHeader[] = [];
  readonly errors: readonly AnyErrorCode[] = [];
}

const MARKS = 'http:route-marks';

/** Returns the metadata of a handler or controller, and of the classes that a controller extends. */
export function marksOf(target: object): Partial<RouteMetadata> {
  const own = (Reflect.getOwnMetadata(MARKS, target) ?? {}) as Partial<RouteMetadata>;
  const parent = Object.getPrototypeOf(target) as object | null;
  return parent === null ? own : { ...marksOf(parent), ...own };
}

/** Sets metadata of a route, or of every route of a controller. */
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

/** Requires one of these scopes for the route, or for every route of the controller; refusals name the first. */
export const RequiresScope = (...scopes: readonly [Scope, ...Scope[]]): MethodDecorator & ClassDecorator =>
  opensTo(scopes);

/** Opens the route to every caller, with any scopes, except keys with a lone scope. */
export const AnyScope = (): MethodDecorator & ClassDecorator => opensTo('any');

/** Opens the route, or every route of the controller, without an API key. */
export const Public = (): MethodDecorator & ClassDecorator => opensTo('public');

function opensTo(scopes: RouteScopes): MethodDecorator & ClassDecorator {
  return applyDecorators(refuseSecondMark, SetRouteMetadata({ scopes }));
}

/** Refuses a second, contradictory decorator; otherwise the first would win unnoticed. */
function refuseSecondMark(target: object, name?: string | symbol, method?: PropertyDescriptor): void {
  const controller = (method?.value ?? target) as Type;
  const own = Reflect.getOwnMetadata(MARKS, controller) as Partial<RouteMetadata> | undefined;
  if (own?.scopes === undefined) return;
  const place = name === undefined ? controller.name : `${target.constructor.name}.${String(name)}`;
  throw new Error(`${place} says twice who may call it: keep one of @RequiresScope('…'), @AnyScope() and @Public().`);
}

/** Lets a provider decide whether the route admits a caller that has the scope. */
export const AdmittedBy = (rule: Type<AdmissionRule>): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ admissionRule: rule });

/** Names the member of the body that has the acting agent. A caller bound to an agent may omit it. */
export const OwnAgentIn = (member: string): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ ownAgentMember: member });

/** Name of the header with the id of the approved decision on a change. */
export const CHANGE_HEADER = 'Change';
/** Name of the header with the reason why a change cannot wait. */
export const BREAK_GLASS_HEADER = 'Break-Glass';

/** Makes requests of the route take effect only once a second person has approved them, if `FOUR_EYES` is on. */
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
 * Declares that the route answers with a record that has a `revision`, which becomes a strong ETag; a GET honours
 * `If-None-Match`.
 */
export const Revisioned = (): MethodDecorator & ClassDecorator => SetRouteMetadata({ isRevisioned: true });

/**
 * Documents the errors of a route, or of every route of a controller, except those that every route has (for its key,
 * its input, the rate limit, and our faults), and those that follow from a parameter of its path (404) and from its
 * body (409).
 */
export const ApiErrors = (...codes: readonly AnyErrorCode[]): MethodDecorator & ClassDecorator =>
  SetRouteMetadata({ errors: codes });

/** Makes a decorator for a handler's parameter that is read from a header and described in the API document. */
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

/** Makes the error for a path that no route has, or whose route is switched off. */
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

/** The way in which a handler takes a part of the request. */
export interface TakenPart {
  /** False if the handler does not take the part. */
  readonly isTaken: boolean;
  /** True if the handler takes the part as a whole, and not only some members. */
  readonly isWhole: boolean;
  /** Members that it takes one by one. */
  readonly names: ReadonlySet<string>;
  /** DTO class of the part; null if the handler takes plain values. */
  readonly dto: Type | null;
}

/** A route's metadata for the HTTP layer, read once from its decorators. */
export interface RouteTraits extends RouteMetadata {
  readonly isPublic: boolean;
  /** False if no response is stored for replay. */
  readonly keepsAnswers: boolean;
  /** Rate limit bucket for requests with a valid key. */
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

/** Returns a template such as `/api/v1/entities/:id`; null if no route has the path. */
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

/** Types of parameters that are not DTOs: plain values, and the type that TypeScript emits for an interface. */
const PLAIN: ReadonlySet<unknown> = new Set([undefined, String, Boolean, Number, Array, Object, Buffer, Date]);

/** Returns how a handler takes a part, from its parameters, which Nest stores under `<part>:<index>`. */
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
