import type { CompiledPolicy, PathUse } from './compiled-policy';
import type { Name, Names } from './name';
import type { AskedNames } from './policy-names';
import type { Verdict } from './verdict';

/** Up to this many policies are compared one by one; more are divided by the names they list. */
const MOST_TOGETHER = 100;

/** What nodes are divided by, in order: from what a request has one of to what it has many of. */
const DIVISIONS = ['actions', 'resourceTypes', 'subjects'] as const;

/** The policies of one resource pattern: a list while they are few, then child nodes by the names they list. */
export class PolicyIndexNode {
  /** The policy with the highest precedence; undefined if there is none. */
  first: CompiledPolicy | undefined = undefined;
  /** Ordered by place; null once they are divided. */
  private together: CompiledPolicy[] | null = [];
  /** Policies that match every name. */
  private every: PolicyIndexNode | null = null;
  private named: Map<Name, PolicyIndexNode> | null = null;

  constructor(private readonly depth = 0) {}

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  add(policy: CompiledPolicy): void {
    if (this.first === undefined || policy.place < this.first.place) this.first = policy;
    if (this.together === null) {
      this.addDivided(policy);
      return;
    }
    insertRanked(this.together, policy);
    if (this.together.length <= MOST_TOGETHER || this.depth === DIVISIONS.length) return;
    const policies = this.together;
    this.together = null;
    for (const each of policies) this.addDivided(each);
  }

  /** Empty nodes are removed with their last policy, so that names which come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    if (this.together !== null) removeRanked(this.together, policy);
    else this.removeDivided(policy);
    if (this.first === policy) this.first = this.findFirst();
    if (this.first === undefined) this.together = [];
  }

  /** Offers the verdict those policies that the request may match and that could still matter. */
  offer(verdict: Verdict, use: PathUse): void {
    if (!verdict.wants(this.first)) return;
    if (this.together !== null) {
      verdict.consider(this.together, use);
      return;
    }
    this.every?.offer(verdict, use);
    if (this.named === null) return;
    for (const name of this.namesAsked(verdict.asked)) this.named.get(name)?.offer(verdict, use);
  }

  /** Visits every policy, some more than once. */
  each(show: (policy: CompiledPolicy) => void): void {
    this.together?.forEach(show);
    this.every?.each(show);
    for (const node of this.named?.values() ?? []) node.each(show);
  }

  private addDivided(policy: CompiledPolicy): void {
    const names = this.namesOf(policy);
    if (names === null) {
      this.every ??= new PolicyIndexNode(this.depth + 1);
      this.every.add(policy);
      return;
    }
    this.named ??= new Map();
    for (const name of names) {
      let node = this.named.get(name);
      if (node === undefined) {
        node = new PolicyIndexNode(this.depth + 1);
        this.named.set(name, node);
      }
      node.add(policy);
    }
  }

  private removeDivided(policy: CompiledPolicy): void {
    const names = this.namesOf(policy);
    if (names === null) {
      this.every?.remove(policy);
      if (this.every?.first === undefined) this.every = null;
      return;
    }
    for (const name of names) {
      const node = this.named?.get(name);
      node?.remove(policy);
      if (node?.first === undefined) this.named?.delete(name);
    }
    if (this.named?.size === 0) this.named = null;
  }

  private findFirst(): CompiledPolicy | undefined {
    if (this.together !== null) return this.together[0];
    let first = this.every?.first;
    for (const node of this.named?.values() ?? []) {
      if (first === undefined || (node.first !== undefined && node.first.place < first.place)) first = node.first;
    }
    return first;
  }

  /**
   * The names under which the policy is filed here. It is still compared in full, so a coarser place is correct too.
   */
  private namesOf(policy: CompiledPolicy): Names {
    const division = DIVISIONS[this.depth];
    return division === undefined || this.depth >= policy.divisions ? null : policy[division];
  }

  private namesAsked(asked: AskedNames): readonly Name[] {
    // By literal name: looking members up by the texts in DIVISIONS takes several times as long.
    if (this.depth === 0) return asked.actions;
    return this.depth === 1 ? asked.resourceTypes : asked.subjects;
  }
}

/** Inserts a policy into a list ordered by place, unless it is there. */
function insertRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] !== policy) list.splice(index, 0, policy);
}

function removeRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] === policy) list.splice(index, 1);
}

function indexFor(list: readonly CompiledPolicy[], { place }: CompiledPolicy): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = list[middle];
    if (found !== undefined && found.place < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
