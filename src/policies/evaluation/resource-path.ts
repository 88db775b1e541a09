const CONTROL_CHARACTER = /\p{Cc}/u;
const PERCENT_ESCAPES = /(?:%[0-9a-f]{2})+/gi;

/** One leading `/` of a resource path means nothing. */
export function withoutLeadingSlash(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path;
}

/**
 * Says what a resource path would have to be, or undefined when it is one. What a later reader of the path could resolve to
 * another path (`a/../b`, `a//b`, `a/%2e%2e/b`) could dodge the pattern of a policy, so it is refused.
 */
export function resourcePathFault(path: string): string | undefined {
  const decoded = decodeUntilStable(withoutLeadingSlash(path));
  if (CONTROL_CHARACTER.test(decoded)) return 'must not contain control characters, also not percent-encoded';
  for (const segment of decoded.split('/')) {
    if (segment === '')
      return 'must not have empty segments (as in "a//b" or a trailing "/"), also not percent-encoded';
    if (segment === '.' || segment === '..') return 'must not have "." or ".." segments, also not percent-encoded';
  }
  return undefined;
}

/** A resource type is the first segment of a path, so it is a path of one segment. */
export function resourceTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('/') ? 'must not contain "/"' : resourcePathFault(resourceType);
}

/** Undoes percent-encoding as often as anyone after us might (`%252e` → `%2e` → `.`). Each round makes the text shorter. */
function decodeUntilStable(text: string): string {
  let decoded = text;
  while (decoded.includes('%')) {
    const next = decoded.replace(PERCENT_ESCAPES, decodeEscapes);
    if (next === decoded) break;
    decoded = next;
  }
  return decoded;
}

/** Bytes that are not UTF-8 become U+FFFD: the result is looked at, never kept. */
function decodeEscapes(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8');
}
