import { patternsAround } from '../../../core/values/action-pattern';
import { type ResourcePattern, decodedPath, isUrl, spelledPath, urlPathStart } from '../../policies/patterns/resources';
import { groupBy } from '../../../core/values/grouped';
import { encodedSpellings, type PlannedMatch } from './planned-match';
import type { Axis } from './pattern-tree';

/**
 * Identifies a set of resource ids. Two such sets are either nested or disjoint: `*` all, `://` all URLs, `paths` all
 * others, `+` those of one segment, `B` everything below a path, `E` a single id.
 */
export type ResourceKey = '*' | '://' | 'paths' | '+' | `B${string}` | `E${string}`;

/** Yields the sets that enclose a set, the smallest first; only those that a policy could name. */
export function* setsAround(key: ResourceKey): Generator<ResourceKey> {
  if (key === '*') return;
  if (key.startsWith('B') || key.startsWith('E')) yield* setsAroundPath(key.slice(1), key.startsWith('E'));
  else if (key === '+') yield 'paths';
  yield '*';
}

function* setsAroundPath(path: string, isId: boolean): Generator<ResourceKey> {
  const isOfUrl = isUrl(path);
  // The beginning of a URL is not a path of its own.
  const start = isOfUrl ? urlPathStart(path) : 1;
  const least = start < 0 ? path.length : start - 1;
  for (let slash = path.lastIndexOf('/'); slash > least; slash = path.lastIndexOf('/', slash - 1)) {
    yield `B${path.slice(0, slash)}`;
  }
  if (isOfUrl) yield '://';
  else {
    if (isId && !path.includes('/')) yield '+';
    yield 'paths';
  }
}

/** Returns the text of a set as a plan shows it. */
export function resourceText(key: ResourceKey): string {
  if (key === 'paths') return '*';
  if (key.startsWith('B')) return `${key.slice(1)}/*`;
  if (key.startsWith('E')) return key === 'E+' ? '/+' : key.slice(1);
  return key;
}

/** Keys of each policy by the type before its paths, cached because a plan needs them repeatedly. */
const KEYS = new WeakMap<PlannedMatch, Map<string | null, readonly ResourceKey[]>>();

/** Returns the ids that a policy matches under a type; null for a type that no policy names. */
export function resourceKeys(policy: PlannedMatch, type: string | null): readonly ResourceKey[] {
  const { resources, types, isSpelled } = policy;
  if (types !== null && (type === null || !types.has(type))) return [];
  const comparable = type === null ? null : (isSpelled ? spelledPath : decodedPath)(type);
  // A policy matches the same under all types with which none of its paths begins.
  const before =
    comparable !== null && resources.some((pattern) => beginsWith(pattern, comparable)) ? comparable : null;
  const byType = KEYS.get(policy) ?? new Map<string | null, readonly ResourceKey[]>();
  KEYS.set(policy, byType);
  const keys = byType.get(before) ?? keysAfter(policy, before);
  byType.set(before, keys);
  return keys;
}

function beginsWith(pattern: ResourcePattern, type: string): boolean {
  return pattern.kind !== 'everything' && (pattern.path === type || pattern.path.startsWith(`${type}/`));
}

function keysAfter({ resources, types, rules, isSpelled }: PlannedMatch, type: string | null): ResourceKey[] {
  // The caller chooses the type, so an allow only counts for a type that it lists, or for ids that are not paths.
  const isTyped = rules.effect !== 'allow' || types !== null;
  const keys = resources.flatMap((pattern) => patternKeys(pattern, type, isTyped));
  return isSpelled ? keys : keys.flatMap((key) => [key, ...otherSpellings(key)]);
}

function patternKeys(pattern: ResourcePattern, type: string | null, isTyped: boolean): ResourceKey[] {
  const own = ownKey(pattern);
  if (pattern.kind === 'everything') return [own];
  if (type === null || isUrl(`${pattern.path}/`)) return [own];
  if (pattern.kind === 'below' && pattern.path === type) return [own, isTyped ? 'paths' : '+'];
  if (!pattern.path.startsWith(`${type}/`)) return [own];
  const rest = pattern.path.slice(type.length + 1);
  if (pattern.kind === 'below') return isTyped ? [own, `B${rest}`] : [own];
  return isTyped || !rest.includes('/') ? [own, `E${rest}`] : [own];
}

/** Returns the set that a pattern matches on its own, without a type before it. */
export function ownKey(pattern: ResourcePattern): ResourceKey {
  if (pattern.kind === 'everything') return '*';
  return pattern.kind === 'below' ? `B${pattern.path}` : `E${pattern.path}`;
}

/** Returns other spellings. An id matches in any percent-encoding, unless it means one spelling only. */
function otherSpellings(key: ResourceKey): ResourceKey[] {
  if (key.startsWith('B')) return encodedSpellings(key.slice(1)).map((path) => `B${path}` as const);
  return key.startsWith('E') ? encodedSpellings(key.slice(1)).map((path) => `E${path}` as const) : [];
}

/** Returns all sets of ids that a policy matches under any type. */
export function possibleKeys(policy: PlannedMatch): ResourceKey[] {
  return [null, ...policy.namedTypes].flatMap((type) => resourceKeys(policy, type));
}

export const ACTIONS: Axis<string> = {
  root: '*',
  always: [],
  around: patternsAround,
  text: (action) => action,
};

export const RESOURCES: Axis<ResourceKey> = {
  root: '*',
  // Every id is a URL or not. No pattern matches all ids that are not URLs, so their text is `*` without the URLs.
  always: [
    ['://', null],
    ['paths', '://'],
  ],
  around: setsAround,
  text: resourceText,
};

/** Patterns of changed policies on an axis, to find what overlaps with them. */
export class Reach<Key extends string> {
  private sets: { readonly keys: ReadonlySet<Key>; readonly enclosing: ReadonlySet<Key> } | null = null;

  /**
   * @param keysOf returns the patterns; called at the first comparison
   * @param around returns the keys that enclose a key, without the key itself
   */
  constructor(
    private readonly keysOf: () => Iterable<Key>,
    private readonly around: (key: Key) => Iterable<Key>,
  ) {}

  touches(key: Key): boolean {
    this.sets ??= this.makeSets();
    const { keys, enclosing } = this.sets;
    if (keys.has(key) || enclosing.has(key)) return true;
    for (const outer of this.around(key)) if (keys.has(outer)) return true;
    return false;
  }

  private makeSets(): NonNullable<typeof this.sets> {
    const keys = new Set(this.keysOf());
    const enclosing = new Set<Key>();
    for (const key of keys) for (const outer of this.around(key)) enclosing.add(outer);
    return { keys, enclosing };
  }
}

/** Policies whose matches under a type overlap with those of the changed policies. */
export class ReachedPolicies {
  /** Policies that matter under every type that is not in `types`. */
  readonly others: readonly PlannedMatch[];
  /** Types under which policies may match differently than under all other types. */
  readonly types: readonly string[];
  private readonly untyped: readonly PlannedMatch[];
  private readonly byType: ReadonlyMap<string, readonly PlannedMatch[]>;
  private readonly reach: Reach<ResourceKey>;

  constructor(
    policies: readonly PlannedMatch[],
    private readonly step: () => void,
  ) {
    this.untyped = policies.filter(({ types }) => types === null);
    this.reach = reachOf(this.untyped, null);
    this.others = this.touching(this.untyped, null, this.reach);
    this.byType = groupBy(policies, ({ namedTypes }) => namedTypes);
    this.types = [...this.byType.keys()].filter((type) => this.isApart(type));
  }

  under(type: string): PlannedMatch[] {
    const matchesOfType = this.byType.get(type) ?? [];
    // If the type lets changed policies reach further, more policies become relevant.
    const isFurther = matchesOfType.some(({ isChanged }) => isChanged);
    const candidates = [...new Set([...(isFurther ? this.untyped : this.others), ...matchesOfType])];
    return this.touching(candidates, type, isFurther ? reachOf(candidates, type) : this.reach);
  }

  private isApart(type: string): boolean {
    return (this.byType.get(type) ?? []).some((policy) => {
      this.step();
      if (policy.isChanged) return true;
      const elsewhere = new Set(resourceKeys(policy, null));
      return resourceKeys(policy, type).some((key) => !elsewhere.has(key) && this.reach.touches(key));
    });
  }

  private touching(policies: readonly PlannedMatch[], type: string | null, reach: Reach<ResourceKey>): PlannedMatch[] {
    return policies.filter((policy) => {
      this.step();
      const keys = resourceKeys(policy, type);
      return policy.isChanged ? keys.length > 0 : keys.some((key) => reach.touches(key));
    });
  }
}

function reachOf(policies: readonly PlannedMatch[], type: string | null): Reach<ResourceKey> {
  const changed = policies.filter(({ isChanged }) => isChanged);
  return new Reach(() => changed.flatMap((policy) => resourceKeys(policy, type)), setsAround);
}
