import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * For files that are the same for everybody and may be cached by anybody; a newer version may have other content under
 * the same name.
 */
export const FOR_EVERYBODY = 'public, max-age=300';

/** The same for files whose names change with their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Keeps answers out of shared caches: a proxy would serve what it caches to clients without a key. The caller may keep
 * its own copy, but has to revalidate it.
 */
export function keepOutOfSharedCaches(_request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader('Cache-Control', 'private, no-cache');
  response.setHeader('Vary', 'X-API-Key, Authorization');
  next();
}
