/** Number of resources that share a beginning from which on everything below it is allowed. */
const MIN_SHARING = 5;

/**
 * Returns patterns that name these resources and little else: each by its id, or, from five on that share a beginning,
 * all below that beginning (`orders/*`), the longest such beginning first.
 */
export function draftedResources(ids: readonly string[]): {
  readonly patterns: string[];
  readonly unnameable: string[];
} {
  const remaining = new Set(ids);
  const patterns: string[] = [];
  for (const prefix of beginnings(ids)) {
    const below = [...remaining].filter((id) => id.startsWith(`${prefix}/`));
    // A pattern cannot name an id with a `*`.
    if (below.length < MIN_SHARING && !below.some((id) => id.includes('*'))) continue;
    patterns.push(`${prefix}/*`);
    for (const id of below) remaining.delete(id);
  }
  const remainingIds = [...remaining];
  return {
    patterns: [...patterns, ...remainingIds.filter((id) => !id.includes('*'))].sort(),
    unnameable: remainingIds.filter((id) => id.includes('*')),
  };
}

/** Returns the beginnings of ids up to each `/`, the longest first; of a URL, at least its host. */
function beginnings(ids: readonly string[]): string[] {
  const prefixes = new Set<string>();
  for (const id of ids) {
    const path = id.includes('://') ? id.indexOf('://') + 3 : 1;
    for (let slash = id.indexOf('/', path); slash !== -1; slash = id.indexOf('/', slash + 1))
      prefixes.add(id.slice(0, slash));
  }
  return [...prefixes].filter((prefix) => !prefix.includes('*')).sort((left, right) => right.length - left.length);
}
