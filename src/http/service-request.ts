import type { ArgumentsHost } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { FieldFault } from '../errors/domain-error';
import type { RouteTraits } from './route-traits';

/** A request as the service's own middleware leaves it. */
export interface ServiceRequest extends Request {
  /** The client's `X-Request-Id` when it is usable, otherwise generated; every answer, log line and audit entry has it. */
  id: string;
  /** What is wrong with a request that cannot be routed as it stands; the fallback answers it. */
  unreadable?: FieldFault;
  /** See `clientAddress`. */
  address?: string;
  /** See `ApiKeyCheck`. */
  hasValidKey?: boolean;
  /** What the route the request has come to is like, once the guards have let it pass. */
  traits?: RouteTraits;
  /** See `ListPlaces`; there while the request has a place. */
  leaveList?: () => void;
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue?: boolean;
  /** The rest of the body will not come: the client left, was too slow, or sent something else. */
  isCut?: boolean;
}

/** What a handler was called with. `switchToHttp` makes three functions for the same, which counts on every request. */
export function exchangeOf(host: ArgumentsHost): readonly [ServiceRequest, Response] {
  return host.getArgs<[ServiceRequest, Response]>();
}
