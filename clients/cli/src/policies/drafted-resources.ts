/** Minimum number of resources below a prefix for which one pattern allows everything below the prefix. */
const MIN_SHARING = 5;

/**
 * Returns patterns that match these resources and little else. From five resources below a prefix, one pattern such as
 * `orders/*` matches everything below the prefix; the longest prefixes are tried first. Every other resource gets a
 * pattern of its own. `unnameable` lists the ids that no pattern can name.
 */
export function draftedResources(ids: readonly string[]): {
  readonly patterns: string[];
  readonly unnameable: string[];
} {
  const remaining = new Set(ids);
  const patterns: string[] = [];
  for (const prefix of beginnings(ids)) {
    const below = [...remaining].filter((id) => id.startsWith(`${prefix}/`));
    // No pattern can name an id with a `*`, so the pattern of the prefix has to match the id.
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

/**
 * Returns the prefixes of ids that end before a `/`, the longest first. A prefix of a URL contains at least its host.
 */
function beginnings(ids: readonly string[]): string[] {
  const prefixes = new Set<string>();
  for (const id of ids) {
    const path = id.includes('://') ? id.indexOf('://') + 3 : 1;
    for (let slash = id.indexOf('/', path); slash !== -1; slash = id.indexOf('/', slash + 1))
      prefixes.add(id.slice(0, slash));
  }
  return [...prefixes].filter((prefix) => !prefix.includes('*')).sort((left, right) => right.length - left.length);
}
