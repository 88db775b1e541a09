/** So many resources that share a beginning become everything below it. */
const SHARING = 5;

/**
 * Patterns that name these resources and little else: each by its id, or, from five on that share a beginning, all below
 * that beginning (`orders/*`), the longest such beginning first.
 */
export function draftedResources(ids: readonly string[]): { readonly patterns: string[]; readonly unnamed: string[] } {
  const left = new Set(ids);
  const patterns: string[] = [];
  for (const beginning of beginnings(ids)) {
    const below = [...left].filter((id) => id.startsWith(`${beginning}/`));
    // A pattern cannot name an id with a `*`.
    if (below.length < SHARING && !below.some((id) => id.includes('*'))) continue;
    patterns.push(`${beginning}/*`);
    for (const id of below) left.delete(id);
  }
  const rest = [...left];
  return {
    patterns: [...patterns, ...rest.filter((id) => !id.includes('*'))].sort(),
    unnamed: rest.filter((id) => id.includes('*')),
  };
}

/** What comes before each `/` in the ids, the longest first; of a URL at least its host. */
function beginnings(ids: readonly string[]): string[] {
  const found = new Set<string>();
  for (const id of ids) {
    const path = id.includes('://') ? id.indexOf('://') + 3 : 1;
    for (let slash = id.indexOf('/', path); slash !== -1; slash = id.indexOf('/', slash + 1))
      found.add(id.slice(0, slash));
  }
  return [...found].filter((beginning) => !beginning.includes('*')).sort((one, other) => other.length - one.length);
}
