import { applyDecorators, SetMetadata, type CustomDecorator, type Type } from '@nestjs/common';
import type { Request } from 'express';
import type { DomainError } from '../../errors/domain-error';
import type { Caller, Scope } from '../../ledger/caller';

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

/** Of two marks on one route the upper one would win, whichever that is. */
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
