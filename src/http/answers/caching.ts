import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long files that are the same for everybody may be kept by anybody; a newer version has other ones under their names. */
export const FOR_EVERYBODY = 'public, max-age=300';

/** The same for files whose names change with their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Keeps answers out of caches that many share: a proxy would hand what it keeps to clients without a key. Who asked may
 * keep its own copy, but asks whether it is current.
 */
export function keepOutOfSharedCaches(_request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader('Cache-Control', 'private, no-cache');
  response.setHeader('Vary', 'X-API-Key, Authorization');
  next();
}
