import { compareByRank, type CompiledPolicy, type PathUse } from './compiled-policy';
import type { EvaluationRequest } from './evaluation';
import type { AskedNames, Name, Names } from './names';
import { decodedPath, spelledPath, isUrl, urlPathStart } from '../patterns/resources';
import type { Verdict } from './verdict';

/** A path with its policies: those for the path itself, those for everything below it, and those on longer paths. */
interface ResourceNode {
  exact: PolicyIndexNode | null;
  below: PolicyIndexNode | null;
  /** Keyed by their next segment; null if there are none. */
  children: Map<string, Branch> | null;
}

/**
 * An edge to a longer path: the text after the next segment up to where paths branch or end, such as `/b/c`, and the
 * node there.
 */
interface Branch {
  rest: string;
  node: ResourceNode;
}

/** Visits the policies of a node, and says for which of them the path counts. */
type Visit = (node: PolicyIndexNode, use: PathUse) => void;

const ANY_USE: PathUse = { allow: 'every', others: true };
const TYPED_USE: PathUse = { allow: 'typed', others: true };

/**
 * A radix tree of policies filed under the resources they name. Segments at which no path branches or ends are stored
 * together, so the memory for a pattern grows with its text and not with its depth.
 */
export class ResourceIndex {
  private readonly everything = new PolicyIndexNode();
  /** Keyed by first segment, which can also be a resource type; for URLs, by the part before the path. */
  private readonly tops = new Map<string, ResourceNode>();

  add(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      if (pattern.kind === 'everything') {
        this.everything.add(policy);
        continue;
      }
      const [first, rest] = splitFirst(pattern.path);
      let top = this.tops.get(first);
      if (top === undefined) {
        top = newNode();
        this.tops.set(first, top);
      }
      const node = rest === null ? top : nodeFor(top, rest);
      node[pattern.kind] ??= new PolicyIndexNode();
      node[pattern.kind]?.add(policy);
    }
  }

  /** Names that come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      if (pattern.kind === 'everything') {
        this.everything.remove(policy);
        continue;
      }
      const { path, kind } = pattern;
      const [first, rest] = splitFirst(path);
      const top = this.tops.get(first);
      if (top === undefined) continue;
      changeNode(top, rest, (node) => {
        node[kind]?.remove(policy);
        if (node[kind]?.isEmpty === true) node[kind] = null;
      });
      if (isBare(top) && top.children === null) this.tops.delete(first);
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
      visitBelow(this.tops.get(type), path, 0, allow === 'every' ? ANY_USE : TYPED_USE, visit);
      return;
    }
    this.visitPath(path, { allow: 'every', others: false }, visit);
    visitBelow(this.tops.get(type), path, 0, { allow, others: false }, visit);
    const meant = decodedPath(resourceId);
    this.visitPath(meant, { allow: 'none', others: true }, visit);
    visitBelow(this.tops.get(decodedPath(resourceType)), meant, 0, { allow: 'none', others: true }, visit);
  }

  /** A URL identifies its resource on its own: a type before it means nothing. */
  private visitUrl(url: string, visit: Visit): void {
    if (!url.includes('%')) {
      this.visitPath(url, ANY_USE, visit);
      return;
    }
    this.visitPath(url, { allow: 'every', others: false }, visit);
    this.visitPath(decodedPath(url), { allow: 'none', others: true }, visit);
  }

  private visitPath(path: string, use: PathUse, visit: Visit): void {
    const end = firstEnd(path);
    const top = this.tops.get(path.slice(0, end));
    if (end < path.length) visitBelow(top, path, end + 1, use, visit);
    else if (top !== undefined && top.exact !== null) visit(top.exact, use);
  }
}

/** Visits what matches a path, from `from` on, below the node. */
function visitBelow(top: ResourceNode | undefined, path: string, from: number, use: PathUse, visit: Visit): void {
  let node = top;
  for (let start = from; node !== undefined;) {
    if (node.below !== null) visit(node.below, use);
    const end = segmentEnd(path, start);
    const branch: Branch | undefined = node.children?.get(path.slice(start, end));
    if (branch === undefined || !path.startsWith(branch.rest, end)) return;
    const reached = end + branch.rest.length;
    if (reached === path.length) {
      if (branch.node.exact !== null) visit(branch.node.exact, use);
      return;
    }
    if (path[reached] !== '/') return;
    node = branch.node;
    start = reached + 1;
  }
}

function splitFirst(path: string): [first: string, rest: string | null] {
  const end = firstEnd(path);
  return end === path.length ? [path, null] : [path.slice(0, end), path.slice(end + 1)];
}

/** The end of the first segment; in a URL, of the part before its path. */
function firstEnd(path: string): number {
  const slash = isUrl(path) ? urlPathStart(path) : path.indexOf('/');
  return slash < 0 ? path.length : slash;
}

/** The node of a path, created if it does not exist. */
function nodeFor(from: ResourceNode, path: string): ResourceNode {
  let node = from;
  for (let start = 0; start <= path.length;) {
    const end = segmentEnd(path, start);
    const segment = path.slice(start, end);
    const branch = node.children?.get(segment);
    if (branch === undefined) {
      const made = newNode();
      node.children ??= new Map();
      node.children.set(segment, { rest: path.slice(end), node: made });
      return made;
    }
    const common = commonLength(branch.rest, path.slice(end));
    if (common < branch.rest.length) divide(branch, common);
    node = branch.node;
    start = end + common + 1;
  }
  return node;
}

/** Inserts a node into a branch where its path branches off or ends. */
function divide(branch: Branch, at: number): void {
  const rest = branch.rest.slice(at + 1);
  const end = segmentEnd(rest, 0);
  const between = newNode();
  between.children = new Map([[rest.slice(0, end), { rest: rest.slice(end), node: branch.node }]]);
  branch.rest = branch.rest.slice(0, at);
  branch.node = between;
}

/** Changes the node of a path below another, and removes nodes that become empty; null: that node itself. */
function changeNode(node: ResourceNode, path: string | null, change: (node: ResourceNode) => void): void {
  if (path === null) {
    change(node);
    return;
  }
  const end = segmentEnd(path, 0);
  const segment = path.slice(0, end);
  const branch = node.children?.get(segment);
  if (branch === undefined || !path.startsWith(branch.rest, end)) return;
  const reached = end + branch.rest.length;
  changeNode(branch.node, reached === path.length ? null : path.slice(reached + 1), change);
  if (!isBare(branch.node)) return;
  if (branch.node.children === null) {
    node.children?.delete(segment);
    if (node.children?.size === 0) node.children = null;
  } else if (branch.node.children.size === 1) {
    joinOnly(branch, branch.node.children);
  }
}

/** Removes a node at which paths no longer branch. */
function joinOnly(branch: Branch, children: ReadonlyMap<string, Branch>): void {
  for (const [segment, { rest, node }] of children) {
    branch.rest += `/${segment}${rest}`;
    branch.node = node;
  }
}

function isBare({ exact, below }: ResourceNode): boolean {
  return exact === null && below === null;
}

/** The length of the common prefix of two remainders in whole segments; unless empty, they begin with `/`. */
function commonLength(left: string, right: string): number {
  let common = 0;
  while (common < left.length && common < right.length) {
    const end = segmentEnd(left, common + 1);
    if (end !== segmentEnd(right, common + 1) || !right.startsWith(left.slice(common, end), common)) break;
    common = end;
  }
  return common;
}

function segmentEnd(path: string, start: number): number {
  const slash = path.indexOf('/', start);
  return slash < 0 ? path.length : slash;
}

function newNode(): ResourceNode {
  return { exact: null, below: null, children: null };
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
