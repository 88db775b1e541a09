import { decodedPath, isUrl, type ResourcePattern, spelledPath, urlPathStart } from '../patterns/resources';
import {
  type EvaluationContext,
  compareByRank,
  type CompiledPolicy,
  type PathUse,
  matchesBesidesPath,
} from './compiled-policy';
import { type EvaluationRequest, MAX_DECIDING_POLICIES, type Evaluation } from './evaluation';
import { combinedRequirement } from '../approval/approval-requirement';

/** Policies by the subjects they name, or by `*`; each list in order of precedence. */
type BySubject = Map<string, CompiledPolicy[]>;

/** The policies of one resource pattern by the actions they name, or by `*`. */
type ByAction = Map<string, BySubject>;

type Visit = (byAction: ByAction, use: PathUse) => void;

const EVERY_USE: PathUse = { allow: 'every', others: true };
const TYPED_USE: PathUse = { allow: 'typed', others: true };

/** Where policies are filed that match every path. */
const EVERYTHING = '/';
/** Where they are filed that name patterns of actions, or every subject, or too many of either. */
const ANY = '*';
/** Most combinations of a policy's resources, actions and subjects under which it is filed: each takes memory. */
const MOST_COMBINATIONS = 64;

/**
 * Policies filed under the paths, actions and subjects they name: many differ only in one of them, such as those of each
 * agent. A path is looked up whole, and up to each of its slashes.
 */
export class PolicyIndex {
  private readonly byPath = new Map<string, ByAction>();

  get isEmpty(): boolean {
    return this.byPath.size === 0;
  }

  add(policies: readonly CompiledPolicy[]): void {
    const changed = new Set<CompiledPolicy[]>();
    for (const policy of policies) {
      for (const [path, action, subject] of placesOf(policy)) {
        const byAction: ByAction = this.byPath.get(path) ?? new Map<string, BySubject>();
        this.byPath.set(path, byAction);
        const bySubject: BySubject = byAction.get(action) ?? new Map<string, CompiledPolicy[]>();
        byAction.set(action, bySubject);
        const list = bySubject.get(subject) ?? [];
        bySubject.set(subject, list);
        list.push(policy);
        changed.add(list);
      }
    }
    for (const list of changed) list.sort(compareByRank);
  }

  /** Names that come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    for (const [path, action, subject] of placesOf(policy)) {
      const byAction = this.byPath.get(path);
      const bySubject = byAction?.get(action);
      const list = bySubject?.get(subject) ?? [];
      const place = list.indexOf(policy);
      if (place >= 0) list.splice(place, 1);
      if (list.length === 0) bySubject?.delete(subject);
      if (bySubject?.size === 0) byAction?.delete(action);
      if (byAction?.size === 0) this.byPath.delete(path);
    }
  }

  /**
   * Shows, in lists in order of precedence, all policies that a request can match by its resource, action and subject, and
   * for which of them the path counts. Some are shown more than once, and some do not match.
   */
  offer(
    { request, subjects }: EvaluationContext,
    show: (policies: readonly CompiledPolicy[], use: PathUse) => void,
  ): void {
    const [actionNames, subjectNames] = [
      [request.action, ANY],
      [ANY, ...subjects],
    ];
    this.visit(request, (byAction, use) => {
      for (const action of actionNames) {
        const bySubject = byAction.get(action);
        if (bySubject === undefined) continue;
        for (const subject of subjectNames) {
          const policies = bySubject.get(subject);
          if (policies !== undefined) show(policies, use);
        }
      }
    });
  }

  /** Those of the same policies that match, each once. */
  offered(
    asked: EvaluationContext,
    matches: (policy: CompiledPolicy, asked: EvaluationContext, use: PathUse) => boolean,
  ): CompiledPolicy[] {
    const found = new Set<CompiledPolicy>();
    this.offer(asked, (policies, use) => {
      for (const policy of policies) if (matches(policy, asked, use)) found.add(policy);
    });
    return [...found];
  }

  /** Shows each policy whose resources the request matches, whatever its action; some more than once. */
  each(request: EvaluationRequest, show: (policy: CompiledPolicy, use: PathUse) => void): void {
    this.visit(request, (byAction, use) => {
      for (const bySubject of byAction.values())
        for (const list of bySubject.values()) for (const policy of list) show(policy, use);
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

/** The paths, actions and subjects under which a policy is filed. It is still compared in full. */
function* placesOf(policy: CompiledPolicy): Generator<readonly [path: string, action: string, subject: string]> {
  const { resources } = policy;
  const isPattern = policy.actions?.some((action) => action.endsWith('*')) === true;
  const actions = divided(isPattern ? null : policy.actions, resources.length);
  const subjects = divided(policy.subjects, resources.length * actions.length);
  for (const pattern of resources)
    for (const action of actions) for (const subject of subjects) yield [placeOf(pattern), action, subject];
}

function divided(names: readonly string[] | null, others: number): readonly string[] {
  return names === null || names.length * others > MOST_COMBINATIONS ? [ANY] : [...new Set(names)];
}

/** No path of a resource ends with a slash. */
function placeOf(pattern: ResourcePattern): string {
  if (pattern.kind === 'everything') return EVERYTHING;
  return pattern.kind === 'below' ? `${pattern.path}/` : pattern.path;
}

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** What the matching policies of the highest rank say. */
export function verdictOn(asked: EvaluationContext, index: PolicyIndex): Evaluation {
  let rank = -Infinity;
  const deciding = new Set<CompiledPolicy>();
  index.offer(asked, (policies, use) => {
    let shown = 0;
    // In order of precedence, up to those that can no longer change the answer.
    for (const policy of policies) {
      if (policy.rank < rank || shown === MAX_DECIDING_POLICIES) return;
      if (!matchesBesidesPath(policy, asked, use)) continue;
      if (policy.rank > rank) deciding.clear();
      rank = policy.rank;
      deciding.add(policy);
      // Each that requires approval contributes to the requirement.
      if (policy.approval === null) shown += 1;
    }
  });
  return combineEffects([...deciding].sort(compareByRank));
}

/** All policies have the same effect, the oldest comes first. */
export function combineEffects(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const policies = deciding.slice(0, MAX_DECIDING_POLICIES).map(({ reference }) => reference);
  const requirement = first.approval && combinedRequirement(deciding.flatMap(({ approval }) => approval ?? []));
  return { effect: first.reference.effect, policies, requirement };
}
