import { groupBy } from '../../../core/values/grouped';
import { compareByRank, type CompiledPolicy, type PathUse } from './compiled-policy';
import type { NameBits } from './name-bits';

/** Most policies that are not divided: comparing the bits of so many takes no longer than looking up all names of a request. */
const MAX_UNDIVIDED = 256;
/** Most policies that are shown without a look at their bits. */
const MAX_SHOWN = 4;
/** Bits of a policy: of its actions, its types and its subjects. */
const BITS = 3;

/** Names by which policies are divided, level by level. */
export type FilingNames = readonly (readonly string[])[];

/** Gets a policy, and for which policies the path counts; returns false if no policy that follows in the same order is needed. */
export type ShowPolicy = (policy: CompiledPolicy, use: PathUse) => boolean;

/** What a request is compared by. */
export interface RequestFiling {
  readonly names: FilingNames;
  readonly bits: NameBits;
}

/** Policies in order of precedence. If there are many, they are also divided by their names of a level, and so on. */
export class FiledPolicies {
  readonly all: CompiledPolicy[] = [];
  /** The bits of all policies in a row: policies lie scattered in memory, and reading one takes as long as many bits. */
  private bits: number[] = [];
  /** The same policies by name; null if they are not divided. */
  private parts: Map<string, FiledPolicies> | null = null;

  /** @param level of the names that divide these policies. */
  constructor(
    private readonly namesOf: (policy: CompiledPolicy) => FilingNames,
    private readonly level = 0,
  ) {}

  add(policies: readonly CompiledPolicy[]): void {
    for (const policy of policies) this.all.push(policy);
    this.all.sort(compareByRank);
    this.bits = this.all.flatMap(({ bits }) => [bits.actions, bits.types, bits.subjects]);
    if (this.parts !== null) this.divide(policies, this.parts);
    else if (this.all.length > MAX_UNDIVIDED) this.divide(this.all, (this.parts = new Map<string, FiledPolicies>()));
  }

  /** Names that come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    const position = this.all.indexOf(policy);
    if (position < 0) return;
    this.all.splice(position, 1);
    this.bits.splice(position * BITS, BITS);
    if (this.all.length <= MAX_UNDIVIDED) this.parts = null;
    for (const name of this.ownNames(policy)) {
      const part = this.parts?.get(name);
      part?.remove(policy);
      if (part?.all.length === 0) this.parts?.delete(name);
    }
  }

  /**
   * Shows, in several orders of precedence, all policies that have one of the names of each level, except those that do not
   * match by their bits.
   */
  offer(request: RequestFiling, use: PathUse, show: ShowPolicy): void {
    const { all, parts, level } = this;
    if (all.length <= MAX_SHOWN || level === request.names.length) {
      for (const policy of all) if (!show(policy, use)) return;
    } else if (parts === null) this.offerMatching(request.bits, use, show);
    else for (const name of request.names[level] ?? []) parts.get(name)?.offer(request, use, show);
  }

  private offerMatching({ actions, types, subjects }: NameBits, use: PathUse, show: ShowPolicy): void {
    const { bits } = this;
    let first = 0;
    for (const policy of this.all) {
      const mayMatch =
        (actions & (bits[first] ?? 0)) !== 0 &&
        (types & (bits[first + 1] ?? 0)) !== 0 &&
        (subjects & (bits[first + 2] ?? 0)) !== 0;
      if (mayMatch && !show(policy, use)) return;
      first += BITS;
    }
  }

  private divide(policies: readonly CompiledPolicy[], parts: Map<string, FiledPolicies>): void {
    for (const [name, policiesOfName] of groupBy(policies, (policy) => this.ownNames(policy))) {
      const part = parts.get(name) ?? new FiledPolicies(this.namesOf, this.level + 1);
      parts.set(name, part);
      part.add(policiesOfName);
    }
  }

  private ownNames(policy: CompiledPolicy): readonly string[] {
    return this.namesOf(policy)[this.level] ?? [];
  }
}
