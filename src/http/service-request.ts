import type { Request } from 'express';

/** A request as the service's own middleware leaves it. */
export interface ServiceRequest extends Request {
  /** The client's `X-Request-Id` when it is usable, otherwise generated; every answer, log line and audit entry has it. */
  id: string;
  /** What is wrong with the request line, when its target cannot be read; the fallback answers such a request. */
  unreadable?: string;
  /** The client waits for `100 Continue` before it sends the body. */
  expectsContinue?: boolean;
}
