import { decodedPath, isUrl, type ResourcePattern, spelledPath, urlPathStart } from '../patterns/resources';
import { compareByRank, type CompiledPolicy, type PathUse } from './compiled-policy';
import type { EvaluationRequest } from './evaluation';

/** The policies of one resource pattern by the actions they name, or by `*`; each list in order of precedence. */
type ByAction = Map<string, CompiledPolicy[]>;

type Visit = (byAction: ByAction, use: PathUse) => void;

const EVERY_USE: PathUse = { allow: 'every', others: true };
const TYPED_USE: PathUse = { allow: 'typed', others: true };

/** Where policies are filed that match every path. */
const EVERYTHING = '/';
/** Where they are filed that name patterns of actions, or too many actions. */
const ANY_ACTION = '*';
/** Most combinations of a policy's resources and actions under which it is filed: each takes memory. */
const MOST_COMBINATIONS = 64;

/** Policies filed under the paths and actions they name. A path is looked up whole, and up to each of its slashes. */
export class PolicyIndex {
  private readonly byPath = new Map<string, ByAction>();

  get isEmpty(): boolean {
    return this.byPath.size === 0;
  }

  add(policies: readonly CompiledPolicy[]): void {
    const changed = new Set<CompiledPolicy[]>();
    for (const policy of policies) {
      for (const [path, action] of placesOf(policy)) {
        const byAction = this.byPath.get(path) ?? new Map<string, CompiledPolicy[]>();
        this.byPath.set(path, byAction);
        const list = byAction.get(action) ?? [];
        byAction.set(action, list);
        list.push(policy);
        changed.add(list);
      }
    }
    for (const list of changed) list.sort(compareByRank);
  }

  /** Names that come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    for (const [path, action] of placesOf(policy)) {
      const byAction = this.byPath.get(path);
      const list = byAction?.get(action) ?? [];
      const place = list.indexOf(policy);
      if (place >= 0) list.splice(place, 1);
      if (list.length === 0) byAction?.delete(action);
      if (byAction?.size === 0) this.byPath.delete(path);
    }
  }

  /**
   * Shows, in lists in order of precedence, all policies that a request can match by its resource and action, and for
   * which of them the path counts. Some are shown more than once, and some do not match.
   */
  offer(request: EvaluationRequest, show: (policies: readonly CompiledPolicy[], use: PathUse) => void): void {
    this.visit(request, (byAction, use) => {
      const named = byAction.get(request.action);
      if (named !== undefined) show(named, use);
      const others = byAction.get(ANY_ACTION);
      if (others !== undefined) show(others, use);
    });
  }

  /** Shows each policy whose resources the request matches, whatever its action; some more than once. */
  each(request: EvaluationRequest, show: (policy: CompiledPolicy, use: PathUse) => void): void {
    this.visit(request, (byAction, use) => {
      for (const list of byAction.values()) for (const policy of list) show(policy, use);
    });
  }

  /** Visits what is filed under the resource: its path alone, and its path after its type. */
  private visit({ resourceType, resourceId }: EvaluationRequest, visit: Visit): void {
    const everything = this.byPath.get(EVERYTHING);
    if (everything !== undefined) visit(everything, EVERY_USE);
    const path = spelledPath(resourceId);
    // A URL identifies its resource on its own.
    if (isUrl(path)) {
      this.visitSpellings(path, EVERY_USE, visit, urlPathStart(path));
      return;
    }
    this.visitSpellings(path, EVERY_USE, visit);
    // An allow only counts for the types it lists, since the caller chooses the type.
    this.visitSpellings(`${spelledPath(resourceType)}/${path}`, path.includes('/') ? TYPED_USE : EVERY_USE, visit);
  }

  /** An allow means the path as it is spelled; what forbids means each that is equivalent. */
  private visitSpellings(path: string, use: PathUse, visit: Visit, first?: number): void {
    const meant = path.includes('%') ? decodedPath(path) : path;
    if (meant === path) {
      this.visitPath(path, use, visit, first);
      return;
    }
    this.visitPath(path, { ...use, others: false }, visit, first);
    this.visitPath(meant, { allow: 'none', others: true }, visit, first);
  }

  /** @param first the first slash behind which patterns can end; nothing before it is encoded. */
  private visitPath(path: string, use: PathUse, visit: Visit, first = path.indexOf('/')): void {
    const exact = this.byPath.get(path);
    if (exact !== undefined) visit(exact, use);
    for (let slash = first; slash >= 0; slash = path.indexOf('/', slash + 1)) {
      const below = this.byPath.get(path.slice(0, slash + 1));
      if (below !== undefined) visit(below, use);
    }
  }
}

/** The paths and actions under which a policy is filed. It is still compared in full. */
function* placesOf({ resources, actions }: CompiledPolicy): Generator<readonly [path: string, action: string]> {
  const isDivided =
    actions !== null &&
    actions.length * resources.length <= MOST_COMBINATIONS &&
    !actions.some((action) => action.endsWith('*'));
  for (const pattern of resources)
    for (const action of isDivided ? actions : [ANY_ACTION]) yield [placeOf(pattern), action];
}

/** No path of a resource ends with a slash. */
function placeOf(pattern: ResourcePattern): string {
  if (pattern.kind === 'everything') return EVERYTHING;
  return pattern.kind === 'below' ? `${pattern.path}/` : pattern.path;
}
