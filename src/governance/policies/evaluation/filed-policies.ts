import { groupBy } from '../../../core/values/grouped';
import { compareByRank, type CompiledPolicy, type PathUse } from './compiled-policy';
import type { NameBits } from './name-bits';

/**
 * Most policies that are not divided. Comparing the bits of so many takes no longer than looking up all names of a
 * request.
 */
const MAX_UNDIVIDED = 256;
/** Most policies of a part that are offered at once, without comparing bits or dividing further. */
const MAX_SHOWN = 4;
/** Numbers of bits per policy: for its actions, its types and its subjects. */
const BITS_PER_POLICY = 3;

/** Names by which policies are divided; one list per level. */
export type FilingNames = readonly (readonly string[])[];

/**
 * Receives a policy, and the policies for which the path counts. Returns false if later policies of the same order are
 * not needed.
 */
export type ShowPolicy = (policy: CompiledPolicy, use: PathUse) => boolean;

/** Names and bits of a request, with which policies are compared. */
export interface RequestFiling {
  readonly names: FilingNames;
  readonly bits: NameBits;
}

/**
 * Policies in order of precedence. Large sets are also divided by the policies' names of one level; a large part is
 * divided by the names of the next level.
 */
export class FiledPolicies {
  readonly all: CompiledPolicy[] = [];
  /**
   * The bits of all policies in one array: policies lie scattered in memory, and reading one takes as long as many
   * bits.
   */
  private bits: number[] = [];
  /** Parts of the same policies by name; null if they are not divided. */
  private parts: Map<string, FiledPolicies> | null = null;

  /** @param level level of the names that divide these policies */
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

  /** Removes a policy, and parts that become empty: names may come and go without using memory. */
  remove(policy: CompiledPolicy): void {
    const position = this.all.indexOf(policy);
    if (position < 0) return;
    this.all.splice(position, 1);
    this.bits.splice(position * BITS_PER_POLICY, BITS_PER_POLICY);
    if (this.all.length <= MAX_UNDIVIDED) this.parts = null;
    for (const name of this.ownNames(policy)) {
      const part = this.parts?.get(name);
      part?.remove(policy);
      if (part?.all.length === 0) this.parts?.delete(name);
    }
  }

  /**
   * Offers all policies that have one of the request's names on each level, except those whose bits show that they do
   * not match. The policies of each part come in order of precedence.
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
    let offset = 0;
    for (const policy of this.all) {
      const mayMatch =
        (actions & (bits[offset] ?? 0)) !== 0 &&
        (types & (bits[offset + 1] ?? 0)) !== 0 &&
        (subjects & (bits[offset + 2] ?? 0)) !== 0;
      if (mayMatch && !show(policy, use)) return;
      offset += BITS_PER_POLICY;
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
