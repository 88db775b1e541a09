import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { FieldFault } from '../../core/errors/domain-error';
import type { Caller, Identity } from '../../ledger/kinds/caller';
import type { Pass } from '../../core/concurrency/gate';
import type { RouteTraits } from './routes';

/** A request as the service's middleware leaves it. */
export interface ServiceRequest extends Request {
  /** The client's `X-Request-Id` if it is usable, otherwise a new id; in every response, log line and audit entry. */
  id: string;
  /** Reason why the request cannot be routed; the fallback reports it. */
  unreadable?: FieldFault;
  /** Address of the client; an IPv4-mapped one is shown as IPv4. */
  address: string;
  /** Client for which limits count the request: see `countedClient`. */
  client: string;
  /** Trace id of the client's `traceparent`; null if it sent none. */
  traceId: string | null;
  /** Sender of the request, set by `Authentication`; null without a valid credential. */
  identity?: Identity | null;
  /** Set by `ApiKeyGuard` for all routes that are not public. */
  caller?: Caller;
  /** Traits of the route that the request has reached; the first guard sets them. */
  traits: RouteTraits;
  /** Path of the route, such as `/api/v1/entities/:id`; null if no route has the path. */
  template?: string | null;
  /** Body and query as they were sent; `RequestInputGuard` makes those that the handler takes into DTOs. */
  sent: { readonly body: object; readonly query: object };
  /** See `leavingSignal`. */
  clientSignal?: AbortSignal;
  /** Passes that the request holds until it is answered: see `holdUntilAnswered`. */
  passes?: readonly Pass[];
  /** True if the client waits for `100 Continue` before it sends the body. */
  expectsContinue?: boolean;
  /** True if the rest of the body will not arrive: the client left, was too slow, or sent something invalid. */
  isCut?: boolean;
}

/** The arguments of a handler: `getArgs<Exchange>()`. `switchToHttp` would create three functions on every request. */
export type Exchange = [request: ServiceRequest, response: Response];

/** Makes a decorator for a handler's parameter that is read from the exchange. */
export function exchangeParameter(read: (...exchange: Exchange) => unknown): () => ParameterDecorator {
  return createParamDecorator((_data: unknown, context: ExecutionContext) => read(...context.getArgs<Exchange>()));
}
