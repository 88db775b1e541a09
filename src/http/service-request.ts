import type { Request } from 'express';
import type { FieldFault } from '../errors/domain-error';

/** A request as the service's own middleware leaves it. */
export interface ServiceRequest extends Request {
  /** The client's `X-Request-Id` when it is usable, otherwise generated; every answer, log line and audit entry has it. */
  id: string;
  /** What is wrong with a request whose target cannot be routed; the fallback answers it. */
  unreadable?: FieldFault;
  /** See `clientAddress`. */
  address?: string;
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue?: boolean;
}
