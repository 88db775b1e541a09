import type { Application } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/** What Node's server makes requests and responses of. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Classes whose requests and responses are an Express application's own from the start. Express would give each of them
 * its prototype when it arrives, after which V8 shares nothing between them: the greater part of what Express costs.
 */
export function messageClasses(application: Application): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  // Documented for overriding Express's API, and missing from its types.
  const prototypes = application as unknown as { request: object; response: object };
  Object.setPrototypeOf(ExpressRequest.prototype, prototypes.request);
  Object.setPrototypeOf(ExpressResponse.prototype, prototypes.response);
  prototypes.request = ExpressRequest.prototype;
  prototypes.response = ExpressResponse.prototype;
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
