import type { CompiledPolicy, PathUse } from './compiled-policy';
import type { EvaluationRequest } from './evaluation-request';
import { meantPath, spelledPath } from './resource-path';
import type { ResourcePattern } from './resource-pattern';
import { Shelf } from './shelf';

/** A path: the policies for the path itself, those for all that lies below it, and the paths that are a segment longer. */
interface ResourceNode {
  exact: Shelf | null;
  below: Shelf | null;
  readonly children: Map<string, ResourceNode>;
}

/** Policies whose pattern the resource matches by one of its paths, and what that path is good for. */
interface FoundShelf {
  readonly shelf: Shelf;
  readonly use: PathUse;
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
  shelvesFor({ resourceType, resourceId }: EvaluationRequest): readonly FoundShelf[] {
    const found: FoundShelf[] = [];
    const spelled = spelledPath(resourceId);
    const meant = meantPath(resourceId);
    const [type, meantType] = [spelledPath(resourceType), meantPath(resourceType)];
    // An allow is for the type only that it lists: which type it is, the caller chooses.
    const allow = spelled.includes('/') ? 'typed' : 'every';
    if (spelled === meant && type === meantType) {
      this.find(found, this.root, spelled, { allow: 'every', others: true });
      this.find(found, this.root.children.get(type), spelled, { allow, others: true });
      return found;
    }
    this.find(found, this.root, spelled, { allow: 'every', others: false });
    this.find(found, this.root.children.get(type), spelled, { allow, others: false });
    this.find(found, this.root, meant, { allow: 'none', others: true });
    this.find(found, this.root.children.get(meantType), meant, { allow: 'none', others: true });
    return found;
  }

  private find(found: FoundShelf[], from: ResourceNode | undefined, path: string, use: PathUse): void {
    let node = from;
    let start = 0;
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', start)) {
      addShelf(found, node?.below, use);
      node = node?.children.get(path.slice(start, slash));
      if (node === undefined) return;
      start = slash + 1;
    }
    addShelf(found, node?.below, use);
    addShelf(found, node?.children.get(path.slice(start))?.exact, use);
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

function addShelf(found: FoundShelf[], shelf: Shelf | null | undefined, use: PathUse): void {
  if (shelf !== null && shelf !== undefined) found.push({ shelf, use });
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
