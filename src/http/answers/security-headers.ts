import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/**
 * Helmet's headers, with nothing allowed from other origins. `upgrade-insecure-requests` is left out: served over plain
 * HTTP, the API's page would load its assets over HTTPS and stay blank.
 */
export function securityHeaders(): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  const directives = {
    fontSrc: ["'self'", 'data:'],
    styleSrc: ["'self'", "'unsafe-inline'"],
    upgradeInsecureRequests: null,
  };
  return helmet({ contentSecurityPolicy: { directives } });
}
