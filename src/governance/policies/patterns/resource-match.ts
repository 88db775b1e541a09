import { isUrl, parseResourcePattern, spelledPath } from './resources';

/** Whether one of the patterns means the resource, as those of an allow policy that lists its type. */
export function matchesAsAllow(
  patterns: readonly string[],
  { resourceType, resourceId }: { readonly resourceType: string; readonly resourceId: string },
): boolean {
  const path = spelledPath(resourceId);
  const paths = isUrl(path) ? [path] : [path, `${spelledPath(resourceType)}/${path}`];
  return patterns.some((text) => {
    const pattern = parseResourcePattern(text, 'spelled');
    if (pattern.kind === 'everything') return true;
    if (pattern.kind === 'exact') return paths.includes(pattern.path);
    return paths.some((each) => each.startsWith(`${pattern.path}/`));
  });
}
