import { decodedPath, resourcePathFault, resourceTypeFault, spelledPath, withoutLeadingSlash } from './resource-path';

/** The meaning of one string of a policy's `resources`. */
export type ResourcePattern =
  | { readonly kind: 'everything' }
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'below'; readonly path: string };

const BELOW = '/*';

/**
 * Parses a pattern that {@link resourcePatternFault} has accepted. An allow policy means the path as spelled; one that
 * forbids means every path that is equivalent.
 */
export function parseResourcePattern(text: string, comparedAs: 'spelled' | 'meant'): ResourcePattern {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return pattern;
  return { kind: pattern.kind, path: comparedAs === 'spelled' ? spelledPath(pattern.path) : decodedPath(pattern.path) };
}

/** What a resource pattern has to be, or undefined if it is valid. */
export function resourcePatternFault(text: string): string | undefined {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return undefined;
  if (pattern.path.includes('*')) return 'may contain "*" only as "*" or as a trailing "/*"';
  return resourcePathFault(text);
}

/** What a resource type of a policy has to be, or undefined if it is valid: types are matched exactly. */
export function listedTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('*')
    ? 'must not contain "*": leave the list out for any type'
    : resourceTypeFault(resourceType);
}

function splitPattern(text: string): ResourcePattern {
  const path = withoutLeadingSlash(text);
  if (path === '*') return { kind: 'everything' };
  if (path.endsWith(BELOW)) return { kind: 'below', path: path.slice(0, -BELOW.length) };
  return { kind: 'exact', path };
}
