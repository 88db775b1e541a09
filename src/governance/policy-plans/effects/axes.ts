import { patternsAround } from '../../../core/values/action-pattern';
import { type ResourcePattern, decodedPath, isUrl, spelledPath, urlPathStart } from '../../policies/patterns/resources';
import { grouped } from '../../../core/values/grouped';
import { encodedSpellings, type PlannedMatch } from './planned-match';
import type { Axis } from './pattern-tree';

/**
 * Identifies a set of resource ids. Two such sets are either nested or disjoint: `*` all, `://` all URLs, `paths` all
 * others, `+` those of one segment, `B` everything below a path, `E` a single id.
 */
export type ResourceKey = '*' | '://' | 'paths' | '+' | `B${string}` | `E${string}`;

/** The sets that enclose a set, the smallest first; only those that a policy could name. */
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

/** As shown in a plan. */
export function resourceText(key: ResourceKey): string {
  if (key === 'paths') return '*';
  if (key.startsWith('B')) return `${key.slice(1)}/*`;
  if (key.startsWith('E')) return key === 'E+' ? '/+' : key.slice(1);
  return key;
}

/** The ids that a policy matches under a type; null: under a type that no policy names. */
export function resourceKeys(policy: PlannedMatch, type: string | null): ResourceKey[] {
  const { resources, types, rules, isSpelled } = policy;
  if (types !== null && (type === null || !types.has(type))) return [];
  const comparable = isSpelled ? spelledPath : decodedPath;
  const before = type === null ? null : comparable(type);
  // The caller chooses the type: an allow only counts for one that it lists, or for ids that are not paths.
  const isTyped = rules.effect !== 'allow' || types !== null;
  const keys = resources.flatMap((pattern) => patternKeys(pattern, before, isTyped));
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

/** What a pattern matches by itself, without a type before it. */
export function ownKey(pattern: ResourcePattern): ResourceKey {
  if (pattern.kind === 'everything') return '*';
  return pattern.kind === 'below' ? `B${pattern.path}` : `E${pattern.path}`;
}

/** Unless it is for one spelling only, an id matches however it is percent-encoded. */
function otherSpellings(key: ResourceKey): ResourceKey[] {
  if (key.startsWith('B')) return encodedSpellings(key.slice(1)).map((path) => `B${path}` as const);
  return key.startsWith('E') ? encodedSpellings(key.slice(1)).map((path) => `E${path}` as const) : [];
}

/** All sets of ids that a policy matches under any type. */
export function possibleKeys(policy: PlannedMatch): ResourceKey[] {
  const keys = resourceKeys(policy, null);
  for (const type of policy.namedTypes) keys.push(...resourceKeys(policy, type));
  return keys;
}

export const ACTIONS: Axis<string> = {
  root: '*',
  always: [],
  around: patternsAround,
  text: (action) => action,
};

export const RESOURCES: Axis<ResourceKey> = {
  root: '*',
  // Every id is one or the other. No pattern stands for ids that are not URLs: they are all, except the URLs.
  always: [
    ['://', null],
    ['paths', '://'],
  ],
  around: setsAround,
  text: resourceText,
};

/** What changed policies name on an axis: tells whether something overlaps with it. */
export class Reach<Key extends string> {
  private readonly keys: ReadonlySet<Key>;
  private readonly enclosing = new Set<Key>();

  /** @param around what encloses a key, excluding the key itself. */
  constructor(
    keys: Iterable<Key>,
    private readonly around: (key: Key) => Iterable<Key>,
  ) {
    this.keys = new Set(keys);
    for (const key of this.keys) for (const outer of around(key)) this.enclosing.add(outer);
  }

  touches(key: Key): boolean {
    if (this.keys.has(key) || this.enclosing.has(key)) return true;
    for (const outer of this.around(key)) if (this.keys.has(outer)) return true;
    return false;
  }
}

/** Policies by what they match under a type, as far as it overlaps with what the changed ones match. */
export class ReachedPolicies {
  /** Those that count under all types that are not distinguished. */
  readonly others: readonly PlannedMatch[];
  /** The types under which other policies may match than under the rest. */
  readonly types: readonly string[];
  private readonly untyped: readonly PlannedMatch[];
  private readonly named: ReadonlyMap<string, readonly PlannedMatch[]>;
  private readonly reach: Reach<ResourceKey>;

  constructor(
    policies: readonly PlannedMatch[],
    private readonly step: () => void,
  ) {
    this.untyped = policies.filter(({ types }) => types === null);
    this.reach = reachOf(this.untyped, null);
    this.others = this.touching(this.untyped, null, this.reach);
    this.named = grouped(policies, ({ namedTypes }) => namedTypes);
    this.types = [...this.named.keys()].filter((type) => this.isApart(type));
  }

  under(type: string): PlannedMatch[] {
    const named = this.named.get(type) ?? [];
    // Where the type lets changed policies reach further, more policies become relevant.
    const isFurther = named.some(({ isChanged }) => isChanged);
    const candidates = [...new Set([...(isFurther ? this.untyped : this.others), ...named])];
    return this.touching(candidates, type, isFurther ? reachOf(candidates, type) : this.reach);
  }

  private isApart(type: string): boolean {
    return (this.named.get(type) ?? []).some((policy) => {
      this.step();
      if (policy.isChanged) return true;
      const elsewhere = new Set(resourceKeys(policy, null));
      return resourceKeys(policy, type).some((key) => !elsewhere.has(key) && this.reach.touches(key));
    });
  }

  private touching(policies: readonly PlannedMatch[], type: string | null, reach: Reach<ResourceKey>): PlannedMatch[] {
    return policies.filter((policy) => {
      this.step();
      return resourceKeys(policy, type).some((key) => reach.touches(key));
    });
  }
}

function reachOf(policies: readonly PlannedMatch[], type: string | null): Reach<ResourceKey> {
  const changed = policies.filter(({ isChanged }) => isChanged);
  return new Reach(
    changed.flatMap((policy) => resourceKeys(policy, type)),
    setsAround,
  );
}
