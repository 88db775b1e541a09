import type { CompiledPolicy, PathUse } from './compiled-policy';
import type { EvaluationRequest } from './evaluation-request';
import { decodedPath, spelledPath } from '../patterns/resource-path';
import { isUrl, urlPathStart } from '../patterns/resource-url';
import { PolicyIndexNode } from './policy-index-node';
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
