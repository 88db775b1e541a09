import { everySubjectOf } from '../../policies/approval/approval-requirement';
import type { AgentSubject } from '../../policies/patterns/subjects';
import { decodedPath } from '../../policies/patterns/resources';
import {
  ACTIONS,
  RESOURCES,
  Reach,
  ReachedPolicies,
  possibleKeys,
  type ResourceKey,
  resourceKeys,
  setsAround,
} from './axes';
import { Budget, OutOfTime } from './budget';
import { type CellVerdict, CellVerdicts, NO_REASONS, truthsKey, unitedReasons, verdictKey } from './cell-verdicts';
import type {
  PatternSetResponse,
  PlannedEffectResponse,
  PlannedReferenceResponse,
  PolicyVersionResponse,
} from '../dto/policy-plan.response';
import { groupBy } from '../../../core/values/grouped';
import { withoutOutranked } from './outranked';
import { type Part, type PatternNode, partsOf, patternSets, patternTree } from './pattern-tree';
import {
  type PlannedMatch,
  type PlannedPolicy,
  plannedMatches,
  splitByEncoding,
  withSupposedConditions,
} from './planned-match';
import { SubjectClasses } from './subject-classes';

const MAX_REGIONS = 1_000;
/** Most characters of texts in all regions together: nobody reads more, and it would fill the memory. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Characters that JSON adds to a text. */
const AROUND_TEXT = 3;

/** Reason why a plan is incomplete if its comparison needed too much memory. */
export const TOO_MUCH_MEMORY = 'The plan needed too much memory.';

const ENCODED =
  'A percent-encoded pattern of an allow or of resourceTypes applies to that spelling only, which regions do not distinguish from others.';

export interface FoundEffects {
  readonly effects: readonly PlannedEffectResponse[];
  /** Reason why effects are missing; null if none are. */
  readonly reason: string | null;
}

/** A difference for some resources, or for some types and resources. */
interface Chunk {
  readonly verdict: CellVerdict;
  readonly key: string;
}
interface Gathered<Found extends Chunk> {
  readonly chunk: Found;
  /** Nodes, each with the policies that decide there: not all nodes need to be in one region. */
  readonly nodes: Map<PatternNode, Reasons>;
}
type Reasons = CellVerdict['because'];
type OfResources = Chunk & { readonly resources: PatternSetResponse };
type OfTypes = OfResources & { readonly types: PatternSetResponse };

/**
 * Finds the requests whose answers change with a plan. Requests fall into cells by the patterns that match them, and
 * those of one cell have the same answer. Only cells that a changed policy reaches can change, so only these are
 * examined.
 * @param timeout milliseconds
 * @param team team of agents that are not registered; null if they are in none
 */
export function policyEffects(
  policies: readonly PlannedPolicy[],
  agents: readonly AgentSubject[],
  timeout: number,
  team: string | null = null,
): FoundEffects {
  const budget = new Budget(timeout);
  const classes = new SubjectClasses(
    agents,
    policies.flatMap(({ subjects }) => subjects),
    team,
  );
  const effects: PlannedEffectResponse[] = [];
  try {
    new EffectsSearch(classes, budget, effects).find(plannedMatches(policies, classes).flatMap(splitByEncoding));
  } catch (error) {
    // A RangeError means that the stack, or a text, would have become too large.
    if (!(error instanceof OutOfTime || error instanceof RangeError)) throw error;
    const isLate = error instanceof OutOfTime;
    budget.leaveOut(isLate ? `The plan took longer than PLAN_TIMEOUT allows (${timeout} ms).` : TOO_MUCH_MEMORY);
  }
  return { effects, reason: budget.reason };
}

class EffectsSearch {
  private readonly verdicts = new Map<bigint, readonly Chunk[]>();
  private characters = 0;
  /** Subjects of the changed policies, whose answers alone can change. */
  private subjects = 0n;

  constructor(
    private readonly classes: SubjectClasses,
    private readonly budget: Budget,
    private readonly effects: PlannedEffectResponse[],
  ) {}

  find(all: readonly PlannedMatch[]): void {
    const policies = this.reached(all);
    const actions = patternTree(ACTIONS, policies, ({ rules }) => rules.actions);
    const groups = new Map<string, Gathered<OfTypes>>();
    try {
      for (const part of this.parts(actions, matchesEveryResource))
        for (const chunk of this.ofTypes(part.policies)) gather(groups, chunk, part.nodes);
    } finally {
      // The effects found so far are correct, even if they are incomplete.
      for (const { chunk, nodes } of groups.values())
        for (const { part, set } of setsOf(chunk, nodes)) this.add(part, set);
    }
  }

  /** Returns the changed policies, and those that overlap with them. */
  private reached(policies: readonly PlannedMatch[]): PlannedMatch[] {
    const changed = policies.filter(({ isChanged }) => isChanged);
    this.subjects = changed.reduce((all, policy) => all | policy.subjects, 0n);
    const actions = new Reach(() => changed.flatMap(({ rules }) => rules.actions), ACTIONS.around);
    const resources = new Reach(() => changed.flatMap(possibleKeys), setsAround);
    return policies.filter((policy) => {
      this.budget.step();
      return (
        (policy.subjects & this.subjects) !== 0n &&
        policy.rules.actions.some((action) => actions.touches(action)) &&
        possibleKeys(policy).some((key) => resources.touches(key))
      );
    });
  }

  /** @param matchesAll true if a policy that matches a part matches everything in it */
  private parts(tree: PatternNode, matchesAll: (policy: PlannedMatch) => boolean): Part[] {
    const decidingOf = (policies: readonly PlannedMatch[]): readonly PlannedMatch[] =>
      withoutOutranked(policies, this.subjects, matchesAll);
    return partsOf(tree, decidingOf, () => this.budget.step());
  }

  private ofTypes(policies: readonly PlannedMatch[]): OfTypes[] {
    const reached = new ReachedPolicies(policies, () => this.budget.step());
    // The key null stands for all types that are not distinguished.
    const byType = new Map<string | null, OfResources[]>([[null, this.ofResources(reached.others, null)]]);
    for (const type of reached.types) {
      this.budget.step();
      const isUncertain = decodedPath(type) !== type && policies.some(({ types }) => types?.has(type) === true);
      if (isUncertain) this.budget.leaveOut(ENCODED);
      byType.set(type, isUncertain ? [] : this.ofResources(reached.under(type), type));
    }
    const pairs = [...byType].flatMap(([type, chunks]) => chunks.map((chunk) => ({ type, chunk })));
    return [...groupBy(pairs, ({ chunk }) => [chunk.key]).values()].flatMap((same) => {
      const [first] = same;
      if (first === undefined) return [];
      const { chunk } = first;
      const types = same.map(({ type }) => type);
      const set = types.includes(null)
        ? { in: ['*'], except: reached.types.filter((type) => !types.includes(type)).sort() }
        : { in: types.flatMap((type) => type ?? []).sort(), except: [] };
      const reasons = same.map((one) => one.chunk.verdict.because);
      return { ...because(chunk, reasons), types: set, key: `${chunk.key} ${JSON.stringify(set)}` };
    });
  }

  private ofResources(policies: readonly PlannedMatch[], type: string | null): OfResources[] {
    const keysOf = (policy: PlannedMatch): readonly ResourceKey[] => resourceKeys(policy, type);
    const deciding = withoutOutranked(policies, this.subjects, (policy) => keysOf(policy).includes('*'));
    const tree = patternTree(RESOURCES, deciding, keysOf);
    const groups = new Map<string, Gathered<Chunk>>();
    for (const part of this.parts(tree, () => true))
      for (const chunk of this.verdictsOf(part.mark, part.policies)) gather(groups, chunk, part.nodes);
    return [...groups.values()].flatMap(({ chunk, nodes }) => {
      // Nothing remains of the root if all its children are included: every id is a URL, or is not.
      if (tree.children.every((child) => nodes.has(child))) nodes.set(tree, NO_REASONS);
      else nodes.delete(tree);
      return setsOf(chunk, nodes).map(({ part, set: resources }) => ({
        ...part,
        resources,
        key: `${chunk.key} ${JSON.stringify(resources)}`,
      }));
    });
  }

  private verdictsOf(mark: bigint, policies: readonly PlannedMatch[]): readonly Chunk[] {
    const cached = this.verdicts.get(mark);
    if (cached !== undefined) return cached;
    let verdicts = new CellVerdicts(policies.map(withSupposedConditions), this.budget).all();
    if (verdicts.length > 0 && policies.some(({ isUncertain }) => isUncertain)) {
      this.budget.leaveOut(ENCODED);
      verdicts = [];
    }
    const chunks = verdicts.map((verdict) => ({ verdict, key: keyOf(verdict) }));
    this.verdicts.set(mark, chunks);
    return chunks;
  }

  private add({ verdict, types, resources }: OfTypes, actions: PatternSetResponse): void {
    if (this.effects.length >= MAX_REGIONS) {
      this.budget.leaveOut(`More than ${MAX_REGIONS} regions change.`);
      return;
    }
    const subjects = this.classes.membersOf(verdict.subjects);
    const { from, to, truths, because } = verdict;
    const patterns = [actions, types, resources].flatMap((set) => [set.in, set.except]);
    const approvers = [from, to].flatMap((side) => (side.approvers ?? []).map(everySubjectOf));
    for (const texts of [subjects, ...patterns, ...approvers])
      for (const text of texts) this.characters += text.length + AROUND_TEXT;
    if (this.characters > MAX_CHARACTERS) {
      this.budget.leaveOut('The changed regions would name too many subjects, patterns and approvers.');
      return;
    }
    const held = (holds: boolean): PolicyVersionResponse[] =>
      [...truths.values()]
        .filter((truth) => truth.holds === holds)
        .map(({ policy: { rules } }) => ({ name: rules.name, version: rules.version }));
    this.effects.push({
      from,
      to,
      subjects,
      actions,
      resourceTypes: types,
      resources,
      when: { hold: held(true), fail: held(false) },
      because: { from: because.from.map(referenceTo), to: because.to.map(referenceTo) },
    });
  }
}

function matchesEveryResource({ types, resources }: PlannedMatch): boolean {
  return types === null && resources.some(({ kind }) => kind === 'everything');
}

function gather<Found extends Chunk>(
  groups: Map<string, Gathered<Found>>,
  chunk: Found,
  nodes: readonly PatternNode[],
): void {
  const gathered = groups.get(chunk.key) ?? { chunk, nodes: new Map<PatternNode, Reasons>() };
  groups.set(chunk.key, gathered);
  for (const node of nodes) gathered.nodes.set(node, chunk.verdict.because);
}

/** Returns the sets of patterns that the nodes form, with the policies that decide in each. */
function setsOf<Found extends Chunk>(
  chunk: Found,
  nodes: ReadonlyMap<PatternNode, Reasons>,
): { readonly part: Found; readonly set: PatternSetResponse }[] {
  return patternSets(new Set(nodes.keys())).map(({ nodes: own, set }) => {
    const reasons = new Set(own.map((node) => nodes.get(node) ?? NO_REASONS));
    return { part: because(chunk, [...reasons]), set };
  });
}

function because<Found extends Chunk>(chunk: Found, reasons: readonly Reasons[]): Found {
  return { ...chunk, verdict: { ...chunk.verdict, because: reasons.reduce(unitedReasons) } };
}

function keyOf({ from, to, truths, subjects }: CellVerdict): string {
  return `${verdictKey(from)} ${verdictKey(to)} ${truthsKey(truths)} ${subjects.toString(16)}`;
}

export function referenceTo({ rules: { id, name, version, isNew } }: PlannedMatch): PlannedReferenceResponse {
  return { id: isNew ? null : id, name, version };
}
