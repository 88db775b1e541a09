import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Notes the headers that are set on it. */
class NotingResponse extends ServerResponse {
  readonly headers: (readonly [name: string, value: string])[] = [];

  override setHeader(name: string, value: number | string | readonly string[]): this {
    this.headers.push([name, String(value)]);
    return this;
  }
}

/**
 * Keep answers out of shared caches: a proxy would serve what it caches to clients without a key. The caller may keep its
 * own copy, but has to revalidate it.
 */
const CACHING = [
  ['Cache-Control', 'private, no-cache'],
  ['Vary', 'X-API-Key, Authorization'],
] as const;

/** Middleware that sets the headers which all answers have alike, in one step. */
export function commonHeaders(): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  const headers = [...helmetHeaders(), ...CACHING];
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}

/**
 * Helmet's headers, with nothing allowed from other origins. They are the same for every answer, so Helmet is asked once.
 * `upgrade-insecure-requests` is left out: served over plain HTTP, the API's page would load its assets over HTTPS and
 * stay blank.
 */
function helmetHeaders(): NotingResponse['headers'] {
  const directives = {
    fontSrc: ["'self'", 'data:'],
    styleSrc: ["'self'", "'unsafe-inline'"],
    upgradeInsecureRequests: null,
  };
  const response = new NotingResponse(new IncomingMessage(new Socket()));
  helmet({ contentSecurityPolicy: { directives } })(response.req, response, () => undefined);
  return response.headers;
}

/**
 * For files that are the same for everybody and may be cached by anybody; a newer version may have other content under
 * the same name.
 */
export const FOR_EVERYBODY = 'public, max-age=300';

/** The same for files whose names change with their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';
