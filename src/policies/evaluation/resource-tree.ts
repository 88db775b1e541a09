import type { CompiledPolicy } from './compiled-policy';
import type { EvaluationRequest } from './evaluation-request';
import { withoutLeadingSlash } from './resource-path';
import type { ResourcePattern } from './resource-pattern';
import { Shelf } from './shelf';

/** A path: the policies for the path itself, those for all that lies below it, and the paths that are a segment longer. */
interface ResourceNode {
  exact: Shelf | null;
  below: Shelf | null;
  readonly children: Map<string, ResourceNode>;
}

/** Policies filed under the resources they name, segment by segment. Below the root lies everything. */
export class ResourceTree {
  private readonly root: ResourceNode = newNode();

  add(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      let node = this.root;
      for (const segment of segmentsOf(pattern)) {
        let child = node.children.get(segment);
        if (child === undefined) {
          child = newNode();
          node.children.set(segment, child);
        }
        node = child;
      }
      const part = partOf(pattern);
      node[part] ??= new Shelf();
      node[part].add(policy);
    }
  }

  remove(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) this.removeFrom(pattern, policy);
  }

  /** The shelves of all patterns that the resource matches, by its path or by the path behind its type. */
  shelvesFor({ resourceType, resourceId }: EvaluationRequest): readonly Shelf[] {
    const path = withoutLeadingSlash(resourceId);
    const shelves: Shelf[] = [];
    let plain: ResourceNode | undefined = this.root;
    let typed = this.root.children.get(resourceType);
    let start = 0;
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', start)) {
      addShelf(shelves, plain?.below);
      addShelf(shelves, typed?.below);
      const segment = path.slice(start, slash);
      plain = plain?.children.get(segment);
      typed = typed?.children.get(segment);
      if (plain === undefined && typed === undefined) return shelves;
      start = slash + 1;
    }
    addShelf(shelves, plain?.below);
    addShelf(shelves, typed?.below);
    const last = path.slice(start);
    addShelf(shelves, plain?.children.get(last)?.exact);
    addShelf(shelves, typed?.children.get(last)?.exact);
    return shelves;
  }

  private removeFrom(pattern: ResourcePattern, policy: CompiledPolicy): void {
    const way: [parent: ResourceNode, segment: string, child: ResourceNode][] = [];
    let node = this.root;
    for (const segment of segmentsOf(pattern)) {
      const child = node.children.get(segment);
      if (child === undefined) return;
      way.push([node, segment, child]);
      node = child;
    }
    const part = partOf(pattern);
    node[part]?.remove(policy);
    if (node[part]?.first === undefined) node[part] = null;
    // Names that come and go leave nothing behind.
    for (const [parent, segment, child] of way.reverse()) {
      if (child.exact !== null || child.below !== null || child.children.size > 0) return;
      parent.children.delete(segment);
    }
  }
}

function addShelf(shelves: Shelf[], shelf: Shelf | null | undefined): void {
  if (shelf !== null && shelf !== undefined) shelves.push(shelf);
}

function newNode(): ResourceNode {
  return { exact: null, below: null, children: new Map() };
}

function segmentsOf(pattern: ResourcePattern): readonly string[] {
  return pattern.kind === 'everything' ? [] : pattern.path.split('/');
}

function partOf({ kind }: ResourcePattern): 'exact' | 'below' {
  return kind === 'exact' ? 'exact' : 'below';
}
