import { grouped } from './grouped';
import type { PlannedMatch } from './planned-match';
import { resourceKeys, setsAround, type ResourceKey } from './axes';

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
