import { resourcePathFault, withoutLeadingSlash } from './resource-path';

/** What one string of a policy's `resources` stands for. Paths are without a leading `/`. */
export type ResourcePattern =
  | { readonly kind: 'everything' }
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'below'; readonly path: string };

const BELOW = '/*';

/** Reads a pattern that {@link resourcePatternFault} found nothing wrong with. */
export function parseResourcePattern(text: string): ResourcePattern {
  const path = withoutLeadingSlash(text);
  if (path === '*') return { kind: 'everything' };
  if (path.endsWith(BELOW)) return { kind: 'below', path: path.slice(0, -BELOW.length) };
  return { kind: 'exact', path };
}

/** Says what a resource pattern would have to be, or undefined when it is one. */
export function resourcePatternFault(text: string): string | undefined {
  const pattern = parseResourcePattern(text);
  if (pattern.kind === 'everything') return undefined;
  if (pattern.path.includes('*')) return 'may contain "*" only as "*" or as a trailing "/*"';
  return resourcePathFault(text);
}
