import type { PatternSetResponse } from '../dto/policy-plan.response';
import { groupBy } from '../../../core/values/grouped';
import type { PlannedMatch } from './planned-match';

/**
 * A pattern of policies, with the patterns nested in it. Its own part is everything that it matches and that none of
 * its children matches.
 */
export interface PatternNode {
  /** Text as a plan shows it. */
  readonly text: string;
  readonly parent: PatternNode | null;
  readonly children: PatternNode[];
  readonly policies: readonly PlannedMatch[];
  /** A node that a plan excludes from this one, whose text also matches the node. */
  readonly sibling?: PatternNode;
}

/** Nesting of the patterns of an axis. */
export interface Axis<Key extends string> {
  readonly root: Key;
  /** Keys that are always present, each with the sibling that its text would also match. */
  readonly always: readonly (readonly [key: Key, sibling: Key | null])[];
  /** Yields the patterns that enclose one, the smallest first. */
  readonly around: (key: Key) => Iterable<Key>;
  readonly text: (key: Key) => string;
}

/** Returns the tree of all patterns, each nested in the smallest one that encloses it. */
export function patternTree<Key extends string>(
  axis: Axis<Key>,
  policies: readonly PlannedMatch[],
  keysOf: (policy: PlannedMatch) => readonly Key[],
): PatternNode {
  const byKey = groupBy(policies, keysOf);
  const keys = new Set([axis.root, ...axis.always.map(([key]) => key), ...byKey.keys()]);
  const siblings = new Map(axis.always);
  const nodes = new Map<Key, PatternNode>();
  const nodeOf = (key: Key): PatternNode => {
    const existing = nodes.get(key);
    if (existing !== undefined) return existing;
    const parent = parentOf(key);
    const sibling = siblings.get(key) ?? null;
    const node: PatternNode = {
      text: axis.text(key),
      parent,
      children: [],
      policies: byKey.get(key) ?? [],
      ...(sibling !== null && { sibling: nodeOf(sibling) }),
    };
    parent?.children.push(node);
    nodes.set(key, node);
    return node;
  };
  const parentOf = (key: Key): PatternNode | null => {
    for (const outer of axis.around(key)) if (keys.has(outer)) return nodeOf(outer);
    return null;
  };
  for (const key of keys) nodeOf(key);
  return nodeOf(axis.root);
}

/** Own parts of patterns on which the same policies can decide. */
export interface Part {
  readonly nodes: PatternNode[];
  /** Policies that can decide there, the oldest first. */
  readonly policies: readonly PlannedMatch[];
  /** Identifies the set of policies. */
  readonly mark: bigint;
}

/**
 * Returns the own parts below a node where a changed policy can decide, grouped by the policies that can decide there.
 * @param decidingOf removes, from the policies that match a part, those that decide nothing
 */
export function partsOf(
  root: PatternNode,
  decidingOf: (policies: readonly PlannedMatch[]) => readonly PlannedMatch[],
  step: () => void,
): Part[] {
  const parts = new Map<bigint, Part>();
  const byMatching = new Map<bigint, Part>();
  const matching = new Set<PlannedMatch>();
  const partAt = (mark: bigint): Part => {
    const deciding = decidingOf([...matching]);
    const decidingMark = marksOf(deciding);
    const part = parts.get(decidingMark) ?? { nodes: [], policies: oldestFirst(deciding), mark: decidingMark };
    parts.set(decidingMark, part);
    byMatching.set(mark, part);
    return part;
  };
  const visit = (node: PatternNode, outer: bigint, isReached: boolean): void => {
    step();
    const added = node.policies.filter((policy) => !matching.has(policy));
    for (const policy of added) matching.add(policy);
    const mark = outer ^ marksOf(added);
    const isChanged = isReached || added.some((policy) => policy.isChanged);
    if (isChanged) (byMatching.get(mark) ?? partAt(mark)).nodes.push(node);
    for (const child of node.children) visit(child, mark, isChanged);
    for (const policy of added) matching.delete(policy);
  };
  visit(root, 0n, false);
  return [...parts.values()].filter(({ policies }) => policies.some(({ isChanged }) => isChanged));
}

function oldestFirst(policies: readonly PlannedMatch[]): readonly PlannedMatch[] {
  return [...policies].sort((left, right) => left.index - right.index);
}

function marksOf(policies: readonly PlannedMatch[]): bigint {
  return policies.reduce((marks, policy) => marks ^ policy.mark, 0n);
}

/**
 * Returns the own parts of nodes as sets of patterns. A node inside an exception of another part becomes a separate
 * set, because an exception applies to its whole set.
 */
export function patternSets(
  nodes: ReadonlySet<PatternNode>,
): { readonly nodes: readonly PatternNode[]; readonly set: PatternSetResponse }[] {
  const sets = new Map<string, { nodes: PatternNode[]; in: string[]; except: string[] }>();
  const siblings = new Set(
    [...nodes].flatMap(({ sibling, parent }) => (isChosen(parent, nodes) ? [] : (sibling ?? []))),
  );
  for (const node of nodes) {
    const key = setOf(node, nodes, siblings);
    const set = sets.get(key) ?? { nodes: [], in: [], except: [] };
    sets.set(key, set);
    set.nodes.push(node);
    if (!isChosen(node.parent, nodes)) {
      set.in.push(node.text);
      if (node.sibling !== undefined) set.except.push(node.sibling.text);
    }
    for (const child of node.children) if (!nodes.has(child)) set.except.push(child.text);
  }
  return [...sets.values()].map((set) => ({
    nodes: set.nodes,
    set: { in: set.in.sort(), except: set.except.sort() },
  }));
}

/**
 * Returns a key of the set to which a node belongs: how often the path to the root leaves the chosen nodes, and whether
 * it passes a node that another set excludes.
 */
function setOf(node: PatternNode, nodes: ReadonlySet<PatternNode>, excepted: ReadonlySet<PatternNode>): string {
  let depth = 0;
  let isExcepted = false;
  for (let at: PatternNode | null = node; at !== null; at = at.parent) {
    if (nodes.has(at) && !isChosen(at.parent, nodes)) depth += 1;
    if (excepted.has(at)) isExcepted = true;
  }
  return `${depth} ${isExcepted}`;
}

function isChosen(node: PatternNode | null, nodes: ReadonlySet<PatternNode>): boolean {
  return node !== null && nodes.has(node);
}
