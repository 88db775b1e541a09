import { meantPath, resourcePathFault, resourceTypeFault, spelledPath, withoutLeadingSlash } from './resource-path';

/** What one string of a policy's `resources` stands for. */
export type ResourcePattern =
  | { readonly kind: 'everything' }
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'below'; readonly path: string };

const BELOW = '/*';

/**
 * Reads a pattern that {@link resourcePatternFault} found nothing wrong with. An allow policy names a path as it is spelled;
 * one that forbids names whatever means the same.
 */
export function parseResourcePattern(text: string, comparedAs: 'spelled' | 'meant'): ResourcePattern {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return pattern;
  return { kind: pattern.kind, path: comparedAs === 'spelled' ? spelledPath(pattern.path) : meantPath(pattern.path) };
}

/** Says what a resource pattern would have to be, or undefined when it is one. */
export function resourcePatternFault(text: string): string | undefined {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return undefined;
  if (pattern.path.includes('*')) return 'may contain "*" only as "*" or as a trailing "/*"';
  return resourcePathFault(text);
}

/** Says what a resource type of a policy would have to be, or undefined when it is one: types are named exactly. */
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
