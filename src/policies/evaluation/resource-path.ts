import { percentEncodingFault } from './percent-encoding';

const CONTROL_CHARACTER = /\p{Cc}/u;

/** One leading `/` of a resource path means nothing. */
export function withoutLeadingSlash(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path;
}

/**
 * Says what a resource path would have to be, or undefined when it is one. What a later reader of the path could resolve to
 * another path (`a/../b`, `a//b`, `%61/b`) could dodge the pattern of a policy, so it is refused.
 */
export function resourcePathFault(path: string): string | undefined {
  if (CONTROL_CHARACTER.test(path)) return 'must not contain control characters, also not percent-encoded';
  for (const segment of withoutLeadingSlash(path).split('/')) {
    if (segment === '') return 'must not have empty segments (as in "a//b" or a trailing "/")';
    if (segment === '.' || segment === '..') return 'must not have "." or ".." segments';
  }
  return percentEncodingFault(path);
}

/** A resource type is the first segment of a path, so it is a path of one segment. */
export function resourceTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('/') ? 'must not contain "/"' : resourcePathFault(resourceType);
}
