import type { Application } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/** The classes with which Node's server creates requests and responses. */
interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Classes whose requests and responses are an Express application's own from the start. Express would change the
 * prototype of each one on arrival, which defeats V8's shared shapes: most of what Express costs.
 */
export function messageClasses(application: Application): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  // Documented for extending Express's API, but missing from its types.
  const prototypes = application as unknown as { request: object; response: object };
  Object.setPrototypeOf(ExpressRequest.prototype, prototypes.request);
  Object.setPrototypeOf(ExpressResponse.prototype, prototypes.response);
  prototypes.request = ExpressRequest.prototype;
  prototypes.response = ExpressResponse.prototype;
  // The pipeline sets it on requests that have one; Express would parse it each time it is read.
  Object.defineProperty(ExpressRequest.prototype, 'query', { value: Object.freeze({}), writable: true });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
