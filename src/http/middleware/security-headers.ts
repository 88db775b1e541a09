import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/**
 * Helmet's headers. `upgrade-insecure-requests` is left out: served over plain HTTP, the API page would ask for its
 * assets over HTTPS and stay blank.
 */
export function securityHeaders(): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
}
