import type { Request, Response } from 'express';
import type { FieldFault } from '../../errors/domain-error';
import type { Caller, Identity } from '../../ledger/caller';
import type { RouteTraits } from './route-traits';

/** A request as the service's own middleware leaves it. */
export interface ServiceRequest extends Request {
  /** The client's `X-Request-Id` when it is usable, otherwise generated; every answer, log line and audit entry has it. */
  id: string;
  /** What is wrong with a request that cannot be routed as it stands; the fallback answers it. */
  unreadable?: FieldFault;
  /** See `clientAddress`. */
  address?: string;
  /** See `Authentication`. */
  identity?: Identity | null;
  /** Made by `AccessGuard`, for all routes that are not public. */
  caller?: Caller;
  /** The `Idempotency-Key` of a POST; `RequestInputGuard` reads it. */
  idempotencyKey?: string;
  /** What the route is like that the request has come to; the first guard sets it. */
  traits: RouteTraits;
  /** See `ListPlaces`; there while the request has a place. */
  leaveList?: () => void;
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue?: boolean;
  /** The rest of the body will not come: the client left, was too slow, or sent something else. */
  isCut?: boolean;
}

/** What a handler is called with: `getArgs<Exchange>()`. `switchToHttp` makes three functions for the same on every request. */
export type Exchange = [request: ServiceRequest, response: Response];
