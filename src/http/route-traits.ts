import { type ExecutionContext, HttpStatus, RequestMethod, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { IS_PUBLIC } from './authentication/public.decorator';
import { LEAVES_INPUT_UNREAD } from './body/leaves-input-unread.decorator';
import { CHECKS_IF_MATCH } from './conditional/if-match.decorator';
import { IS_REVISIONED } from './conditional/revisioned.decorator';
import { IS_LIST } from './lists/api-list.decorator';
import { IS_UNCOUNTED, RATE_LIMIT_BUCKET, SHARED_BUCKET } from './rate-limit/rate-limit-bucket.decorator';

/** How a handler takes a part of the request: as a whole, member by member (their names), or not at all. */
export type TakenPart = 'whole' | ReadonlySet<string> | 'none';

/** What the edge has to know of a route; read from its decorators once. */
export interface RouteTraits {
  readonly isPublic: boolean;
  readonly rateLimitBucket: string;
  readonly isUncounted: boolean;
  readonly readsInput: boolean;
  readonly body: TakenPart;
  readonly query: TakenPart;
  readonly creates: boolean;
  readonly isList: boolean;
  readonly isRevisioned: boolean;
  readonly checksIfMatch: boolean;
}

type Handler = ReturnType<ExecutionContext['getHandler']>;
interface RouteArgument {
  readonly data?: unknown;
}

const traitsByController = new WeakMap<Type, Map<Handler, RouteTraits>>();

/** The traits of the route a request has come to. */
export function routeTraits(context: ExecutionContext): RouteTraits {
  const controller = context.getClass();
  const handler = context.getHandler();
  const known = traitsByController.get(controller)?.get(handler);
  return known ?? remember(controller, handler);
}

function remember(controller: Type, handler: Handler): RouteTraits {
  const traits = readTraits(controller, handler);
  const ofController = traitsByController.get(controller) ?? new Map<Handler, RouteTraits>();
  ofController.set(handler, traits);
  traitsByController.set(controller, ofController);
  return traits;
}

/** Reads a handler's decorators, and its controller's where the handler says nothing. */
export function readTraits(controller: Type, handler: Handler): RouteTraits {
  const marked = (key: string): unknown => Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
  const bucket = marked(RATE_LIMIT_BUCKET);
  return {
    isPublic: marked(IS_PUBLIC) === true,
    rateLimitBucket: typeof bucket === 'string' ? bucket : SHARED_BUCKET,
    isUncounted: marked(IS_UNCOUNTED) === true,
    readsInput: marked(LEAVES_INPUT_UNREAD) !== true,
    body: takenPart(controller, handler, RouteParamtypes.BODY),
    query: takenPart(controller, handler, RouteParamtypes.QUERY),
    creates: answersCreated(handler),
    isList: marked(IS_LIST) === true,
    isRevisioned: marked(IS_REVISIONED) === true,
    checksIfMatch: Reflect.hasMetadata(CHECKS_IF_MATCH, controller, handler.name),
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
