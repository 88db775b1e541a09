import { compareByRank, type CompiledPolicy, type PathUse } from './compiled-policy';
import type { EvaluationRequest } from './evaluation';
import type { AskedNames, Name, Names } from './names';
import { decodedPath, spelledPath, isUrl, urlPathStart } from '../patterns/resources';
import type { Verdict } from './verdict';

/** Visits the policies of a node, and says for which of them the path counts. */
type Visit = (node: PolicyIndexNode, use: PathUse) => void;

const ANY_USE: PathUse = { allow: 'every', others: true };
const TYPED_USE: PathUse = { allow: 'typed', others: true };

/** Policies filed under the paths they name. A path of a request is looked up whole, and up to each of its slashes. */
export class ResourceIndex {
  private readonly everything = new PolicyIndexNode();
  private readonly exact = new Map<string, PolicyIndexNode>();
  private readonly below = new Map<string, PolicyIndexNode>();

  add(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      if (pattern.kind === 'everything') {
        this.everything.add(policy);
        continue;
      }
      const node = this[pattern.kind].get(pattern.path) ?? new PolicyIndexNode();
      this[pattern.kind].set(pattern.path, node);
      node.add(policy);
    }
  }

  /** Names that come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      if (pattern.kind === 'everything') {
        this.everything.remove(policy);
        continue;
      }
      const node = this[pattern.kind].get(pattern.path);
      node?.remove(policy);
      if (node?.isEmpty === true) this[pattern.kind].delete(pattern.path);
    }
  }

  /** Offers all policies with a pattern that the resource matches. */
  offer(request: EvaluationRequest, verdict: Verdict): void {
    this.visit(request, (node, use) => node.offer(verdict, use));
  }

  /** Visits each of them, whatever else the request says, with the use of its path; some more than once. */
  each(request: EvaluationRequest, show: (policy: CompiledPolicy, use: PathUse) => void): void {
    this.visit(request, (node, use) => node.each((policy) => show(policy, use)));
  }

  /** Visits what is filed under the resource: its path alone, and its path after its type. */
  private visit({ resourceType, resourceId }: EvaluationRequest, visit: Visit): void {
    visit(this.everything, ANY_USE);
    const path = spelledPath(resourceId);
    if (isUrl(path)) {
      this.visitUrl(path, visit);
      return;
    }
    const type = spelledPath(resourceType);
    // An allow only counts for the types it lists, since the caller chooses the type.
    const allow = path.includes('/') ? 'typed' : 'every';
    if (!path.includes('%') && !type.includes('%')) {
      this.visitPath(path, ANY_USE, visit);
      this.visitPath(`${type}/${path}`, allow === 'every' ? ANY_USE : TYPED_USE, visit);
      return;
    }
    this.visitPath(path, { allow: 'every', others: false }, visit);
    this.visitPath(`${type}/${path}`, { allow, others: false }, visit);
    const meant = decodedPath(resourceId);
    this.visitPath(meant, { allow: 'none', others: true }, visit);
    this.visitPath(`${decodedPath(resourceType)}/${meant}`, { allow: 'none', others: true }, visit);
  }

  /** A URL identifies its resource on its own: a type before it means nothing. */
  private visitUrl(url: string, visit: Visit): void {
    const start = urlPathStart(url);
    if (!url.includes('%')) {
      this.visitPath(url, ANY_USE, visit, start);
      return;
    }
    this.visitPath(url, { allow: 'every', others: false }, visit, start);
    this.visitPath(decodedPath(url), { allow: 'none', others: true }, visit, start);
  }

  /** @param first the first slash behind which patterns can end; nothing before it is encoded. */
  private visitPath(path: string, use: PathUse, visit: Visit, first = path.indexOf('/')): void {
    const exact = this.exact.get(path);
    if (exact !== undefined) visit(exact, use);
    if (this.below.size === 0) return;
    for (let slash = first; slash >= 0; slash = path.indexOf('/', slash + 1)) {
      const below = this.below.get(path.slice(0, slash));
      if (below !== undefined) visit(below, use);
    }
  }
}

/** Up to this many policies are compared one by one; more are divided by the names they list. */
const MOST_TOGETHER = 100;

/** What nodes are divided by, in order: from what a request has one of to what it has many of. */
const DIVISIONS = ['actions', 'resourceTypes', 'subjects'] as const;

/** The policies of one resource pattern: a list while they are few, then child nodes by the names they list. */
class PolicyIndexNode {
  /** The policy with the highest precedence; undefined if there is none. */
  first: CompiledPolicy | undefined = undefined;
  /** In order of precedence; null once they are divided. */
  private together: CompiledPolicy[] | null = [];
  /** Policies that match every name. */
  private every: PolicyIndexNode | null = null;
  private named: Map<Name, PolicyIndexNode> | null = null;

  constructor(private readonly depth = 0) {}

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  add(policy: CompiledPolicy): void {
    if (this.first === undefined || compareByRank(policy, this.first) < 0) this.first = policy;
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
      if (first === undefined || (node.first !== undefined && compareByRank(node.first, first) < 0)) first = node.first;
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

/** Inserts a policy into a list in order of precedence, unless it is there. */
function insertRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] !== policy) list.splice(index, 0, policy);
}

function removeRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] === policy) list.splice(index, 1);
}

function indexFor(list: readonly CompiledPolicy[], policy: CompiledPolicy): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = list[middle];
    if (found !== undefined && compareByRank(found, policy) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
