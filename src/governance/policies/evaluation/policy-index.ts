import { decodedPath, isUrl, type ResourcePattern, spelledPath, urlPathStart } from '../patterns/resources';
import {
  type EvaluationContext,
  compareByAge,
  type CompiledPolicy,
  type PathUse,
  matchesBesidesPath,
} from './compiled-policy';
import { type EvaluationRequest, MAX_DECIDING_POLICIES, type Evaluation } from './evaluation';
import { combinedRequirement } from '../approval/approval-requirement';
import { FiledPolicies, type FilingNames, type RequestFiling, type ShowPolicy } from './filed-policies';
import { groupBy } from '../../../core/values/grouped';
import { bitsOf, type NameBits } from './name-bits';

type Visit = (policies: FiledPolicies, use: PathUse) => void;

const EVERY_USE: PathUse = { allow: 'every', others: true };
const TYPED_USE: PathUse = { allow: 'typed', others: true };

/** Path of policies that match every path. */
const EVERYTHING = '/';
/** Name of policies with patterns of actions, with every subject, or with too many of either. */
const ANY = '*';
/** Most combinations of a policy's resources, actions and subjects under which it is filed: each takes memory. */
const MAX_COMBINATIONS = 64;

/**
 * Policies filed by their paths. Many policies of one path are also divided by actions and subjects, because many
 * differ only in one of them, such as those of each agent. A path is looked up whole, and up to each of its slashes.
 */
export class PolicyIndex {
  private readonly byPath = new Map<string, FiledPolicies>();

  get isEmpty(): boolean {
    return this.byPath.size === 0;
  }

  add(policies: readonly CompiledPolicy[]): void {
    for (const [path, policiesOfPath] of groupBy(policies, ({ resources }) => resources.map(pathOf))) {
      const filed = this.byPath.get(path) ?? new FiledPolicies(filingNames);
      this.byPath.set(path, filed);
      filed.add(policiesOfPath);
    }
  }

  /** Removes a policy, and paths without policies: names may come and go without using memory. */
  remove(policy: CompiledPolicy): void {
    for (const path of policy.resources.map(pathOf)) {
      const filed = this.byPath.get(path);
      filed?.remove(policy);
      if (filed?.all.length === 0) this.byPath.delete(path);
    }
  }

  /**
   * Offers all policies that a request can match by its resource, action, type and subject, and for which of them the
   * path counts. Policies may be offered more than once, and need not match. There are several orders of precedence.
   */
  offer(context: EvaluationContext, show: ShowPolicy): void {
    const names = new RequestNames(context);
    this.visit(context.request, (filed, use) => filed.offer(names, use, show));
  }

  /** Returns the offered policies that match, each once. */
  offered(
    context: EvaluationContext,
    matches: (policy: CompiledPolicy, context: EvaluationContext, use: PathUse) => boolean,
  ): CompiledPolicy[] {
    const matching = new Set<CompiledPolicy>();
    this.offer(context, (policy, use) => {
      if (matches(policy, context, use)) matching.add(policy);
      return true;
    });
    return [...matching];
  }

  /** Visits each policy whose resources match the request, for any action; some more than once. */
  each(request: EvaluationRequest, show: (policy: CompiledPolicy, use: PathUse) => void): void {
    this.visit(request, ({ all }, use) => {
      for (const policy of all) show(policy, use);
    });
  }

  /** Visits the policies under the resource: under its path alone, and under its path after its type. */
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
    // The caller chooses the type, so an allow only counts for the types it lists.
    this.visitSpellings(`${spelledPath(resourceType)}/${path}`, path.includes('/') ? TYPED_USE : EVERY_USE, visit);
  }

  /**
   * Visits the spellings of a path: an allow means the path as it is spelled; a policy that forbids means every
   * equivalent path.
   */
  private visitSpellings(path: string, use: PathUse, visit: Visit, first?: number): void {
    const decoded = path.includes('%') ? decodedPath(path) : path;
    if (decoded === path) {
      this.visitPath(path, use, visit, first);
      return;
    }
    this.visitPath(path, { ...use, others: false }, visit, first);
    this.visitPath(decoded, { allow: 'none', others: true }, visit, first);
  }

  /** @param first first slash after which patterns can end; nothing before it is encoded */
  private visitPath(path: string, use: PathUse, visit: Visit, first = path.indexOf('/')): void {
    const exact = this.byPath.get(path);
    if (exact !== undefined) visit(exact, use);
    for (let slash = first; slash >= 0; slash = path.indexOf('/', slash + 1)) {
      const below = this.byPath.get(path.slice(0, slash + 1));
      if (below !== undefined) visit(below, use);
    }
  }
}

/** Returns the actions and subjects under which a policy is filed. An evaluation still compares the whole policy. */
function filingNames(policy: CompiledPolicy): FilingNames {
  const { resources, team } = policy;
  const isPattern = policy.actions?.some((action) => action.endsWith('*')) === true;
  const actions = divided(isPattern ? null : policy.actions, resources.length);
  const names = divided(policy.subjects, resources.length * actions.length);
  return [actions, team === null ? names : names.map((name) => inTeam(team, name))];
}

/** Names and bits of a request, computed on demand: most requests meet few policies, which need neither. */
class RequestNames implements RequestFiling {
  private ownNames: FilingNames | null = null;
  private ownBits: NameBits | null = null;

  constructor(private readonly context: EvaluationContext) {}

  get names(): FilingNames {
    this.ownNames ??= namesOfRequest(this.context);
    return this.ownNames;
  }

  get bits(): NameBits {
    const { request, subjects } = this.context;
    this.ownBits ??= {
      actions: bitsOf([request.action]),
      types: bitsOf([request.resourceType]),
      subjects: bitsOf(subjects),
    };
    return this.ownBits;
  }
}

function namesOfRequest({ request, subjects, team }: EvaluationContext): FilingNames {
  const names = [ANY, ...subjects];
  const teamNames = team === null ? [] : names.map((name) => inTeam(team, name));
  return [
    [request.action, ANY],
    [...names, ...teamNames],
  ];
}

/** Files the policies of a team separately, so that requests of others need not skip them one by one. */
function inTeam(team: string, subject: string): string {
  return `${team}\n${subject}`;
}

function divided(names: readonly string[] | null, others: number): readonly string[] {
  return names === null || names.length * others > MAX_COMBINATIONS ? [ANY] : [...new Set(names)];
}

/** Returns the path to file a pattern under. No path of a resource ends with a slash. */
function pathOf(pattern: ResourcePattern): string {
  if (pattern.kind === 'everything') return EVERYTHING;
  return pattern.kind === 'below' ? `${pattern.path}/` : pattern.path;
}

const NOTHING_MATCHES: Evaluation = Object.freeze({
  effect: null,
  policies: Object.freeze([]),
  requirement: null,
});

/** Returns the verdict of the matching policies of the highest rank. */
export function verdictOn(context: EvaluationContext, index: PolicyIndex): Evaluation {
  const deciding = new DecidingPolicies();
  index.offer(context, (policy, use) => {
    if (!deciding.needs(policy)) return false;
    if (!deciding.isRequiring(policy) && matchesBesidesPath(policy, context, use)) deciding.add(policy);
    return true;
  });
  return combineEffects(deciding.policies);
}

/** The matching policies of the highest rank, the oldest first, except those beyond the number that a result lists. */
class DecidingPolicies {
  private readonly listed: CompiledPolicy[] = [];
  /** The policies that require approval: there may be thousands, and each contributes to the requirement. */
  private readonly requiring = new Set<CompiledPolicy>();
  private rank = -Infinity;

  get policies(): CompiledPolicy[] {
    return this.requiring.size === 0 ? this.listed : [...this.requiring].sort(compareByAge);
  }

  /** False if neither the policy nor any later one in order of precedence would change the result. */
  needs(policy: CompiledPolicy): boolean {
    if (policy.rank !== this.rank) return policy.rank > this.rank;
    if (policy.approval !== null || this.listed.length < MAX_DECIDING_POLICIES) return true;
    const youngest = this.listed[this.listed.length - 1];
    return youngest === undefined || compareByAge(policy, youngest) < 0;
  }

  /** True if the policy requires approval and has been added: it is offered for each path that it names. */
  isRequiring(policy: CompiledPolicy): boolean {
    return policy.approval !== null && this.requiring.has(policy);
  }

  add(policy: CompiledPolicy): void {
    if (policy.rank > this.rank) {
      this.listed.length = 0;
      this.requiring.clear();
    }
    this.rank = policy.rank;
    if (policy.approval === null) this.list(policy);
    else this.requiring.add(policy);
  }

  private list(policy: CompiledPolicy): void {
    const { listed } = this;
    let position = listed.length;
    for (let other = listed[position - 1]; other !== undefined; other = listed[position - 1]) {
      if (other === policy) return;
      if (compareByAge(other, policy) < 0) break;
      position -= 1;
    }
    if (position === listed.length) listed.push(policy);
    else listed.splice(position, 0, policy);
    if (listed.length > MAX_DECIDING_POLICIES) listed.pop();
  }
}

/** Combines policies of the same effect, the oldest first. */
export function combineEffects(deciding: readonly CompiledPolicy[]): Evaluation {
  const [first] = deciding;
  if (first === undefined) return NOTHING_MATCHES;
  const policies = deciding.slice(0, MAX_DECIDING_POLICIES).map(({ reference }) => reference);
  const requirement = first.approval && combinedRequirement(deciding.flatMap(({ approval }) => approval ?? []));
  return { effect: first.reference.effect, policies, requirement };
}
