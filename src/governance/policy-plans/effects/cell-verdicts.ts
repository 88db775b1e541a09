import {
  type ApprovalRequirement,
  combinedRequirement,
  isTooLarge,
  setKeyOf,
  approversKey,
} from '../../policies/approval/approval-requirement';
import type { PlannedVerdictResponse } from '../dto/policy-plan.response';
import type { Budget } from './budget';
import { groupBy } from '../../../core/values/grouped';
import type { PlannedMatch } from './planned-match';
import { MAX_DECIDING_POLICIES } from '../../policies/evaluation/evaluation';

const NO_POLICY: PlannedVerdictResponse = { effect: 'no_policy' };

/** Returns a verdict as a text key; groups of approvers are compared as sets. */
export function verdictKey({ effect, approvers = [] }: PlannedVerdictResponse): string {
  return `${effect} ${approversKey(approvers)}`;
}

/** True if other policies of the same level cover a requirement. */
function addsNoRequirement(approval: ApprovalRequirement, matched: readonly PlannedMatch[]): boolean {
  return approval.approvers.every(({ subjects, approvals, signed }) =>
    matched.some(({ rules }) =>
      rules.approval?.approvers.some(
        (group) =>
          group.approvals >= approvals &&
          (signed !== true || group.signed === true) &&
          setKeyOf(group.subjects) === setKeyOf(subjects),
      ),
    ),
  );
}

/** Returns the verdict of policies of one level. A requirement that is too large to approve is a denial. */
export function verdictOf(policies: readonly PlannedMatch[]): PlannedVerdictResponse {
  const ordered = [...policies].sort((left, right) => left.index - right.index);
  const requirement = combinedRequirement(ordered.flatMap(({ rules }) => rules.approval ?? []));
  if (requirement === null) return { effect: policies[0]?.rules.effect === 'allow' ? 'allow' : 'deny' };
  return isTooLarge(requirement)
    ? { effect: 'deny' }
    : { effect: 'require_approval', approvers: requirement.approvers };
}

/** Most policies with conditions, or supposed ones, that one cell distinguishes. */
const MAX_CONDITIONS = 8;
const TOO_MANY_CONDITIONS = `More than ${MAX_CONDITIONS} policies with conditions meet in one place.`;
const TOO_MANY_UNCERTAIN = `More than ${MAX_CONDITIONS} policies meet in one place that have conditions, or are allows with percent-encoded patterns.`;

/** Assumed truth of conditions, each with a policy that has them. */
type Truths = ReadonlyMap<string, { readonly policy: PlannedMatch; readonly holds: boolean }>;

/** Subjects of a cell that are answered differently if the conditions are as assumed. */
export interface CellVerdict {
  readonly subjects: bigint;
  readonly from: PlannedVerdictResponse;
  readonly to: PlannedVerdictResponse;
  readonly truths: Truths;
  readonly because: { readonly from: readonly PlannedMatch[]; readonly to: readonly PlannedMatch[] };
}

/** Verdict for one side of the plan, before or after. */
interface Decided {
  readonly verdict: PlannedVerdictResponse;
  readonly level: readonly PlannedMatch[];
}

type Side = 'isBefore' | 'isAfter';
type Sides<Value> = Readonly<Record<Side, Value>>;

/** State of the walk through the levels. */
interface WalkState {
  readonly subjects: bigint;
  readonly truths: Truths;
  readonly decided: Sides<Decided | null>;
  /** Policies of this level that match. */
  readonly matched: Sides<readonly PlannedMatch[]>;
}

/** A state in a level, and the position of the policy that comes next there. */
interface WalkPlace {
  readonly index: number;
  readonly start: number;
  readonly state: WalkState;
}

const NOTHING_DECIDED: WalkState['decided'] = { isBefore: null, isAfter: null };
const NOTHING_MATCHED: WalkState['matched'] = { isBefore: [], isAfter: [] };

/**
 * Finds the verdicts that change in a cell: requests that the same policies match, except for subjects and conditions.
 */
export class CellVerdicts {
  private readonly levels: readonly (readonly PlannedMatch[])[];
  /** Subjects of the changed policies from each level on. */
  private readonly reach: readonly bigint[];
  private readonly verdicts: CellVerdict[] = [];
  /** Places from which the walk goes on, the next one last. A recursion could be as deep as there are policies. */
  private readonly pending: WalkPlace[] = [];

  /** @param policies policies that match everything in the cell, oldest first */
  constructor(
    policies: readonly PlannedMatch[],
    private readonly budget: Budget,
  ) {
    this.levels = levelsOf(policies);
    this.reach = reachOf(this.levels);
  }

  all(): readonly CellVerdict[] {
    const [subjects] = this.reach;
    if (subjects !== undefined)
      this.enterLevel(0, { subjects, truths: new Map(), decided: NOTHING_DECIDED, matched: NOTHING_MATCHED });
    for (let next = this.pending.pop(); next !== undefined; next = this.pending.pop()) this.walkOn(next);
    return merged(this.verdicts);
  }

  private enterLevel(index: number, state: WalkState): void {
    const { isBefore: from, isAfter: to } = state.decided;
    if ((from !== null && to !== null) || index >= this.levels.length) {
      this.note(state);
      return;
    }
    const reach = from === null && to === null ? this.reach[index] : undefined;
    const subjects = reach === undefined ? state.subjects : state.subjects & reach;
    if (subjects !== 0n) this.pending.push({ index, start: 0, state: { ...state, subjects } });
  }

  /** Walks on to the next policy of the level that splits the subjects, or into the next level. */
  private walkOn({ index, start, state }: WalkPlace): void {
    const level = this.levels[index] ?? [];
    for (let next = start; next < level.length; next += 1) {
      const policy = level[next];
      if (policy === undefined) continue;
      this.budget.step();
      const sides = sidesOf(policy, state);
      const subjects = state.subjects & policy.subjects;
      if (sides.length === 0 || subjects === 0n) continue;
      const others = { ...state, subjects: state.subjects & ~policy.subjects };
      const states = this.statesAfter(policy, sides, { ...state, subjects });
      // The walk goes on with the last state.
      for (const each of [...states, ...(others.subjects === 0n ? [] : [others])].reverse())
        this.pending.push({ index, start: next + 1, state: each });
      return;
    }
    const { decided, matched } = state;
    const after = (side: Side): Decided | null =>
      decided[side] ?? (matched[side].length === 0 ? null : { verdict: verdictOf(matched[side]), level });
    const left = { isBefore: after('isBefore'), isAfter: after('isAfter') };
    this.enterLevel(index + 1, { ...state, decided: left, matched: NOTHING_MATCHED });
  }

  /** Returns the states after a policy, one for each possible result of its conditions. */
  private statesAfter(policy: PlannedMatch, sides: readonly Side[], state: WalkState): WalkState[] {
    const { condition } = policy;
    const { truths, matched } = state;
    const truth = condition === null ? undefined : truths.get(condition);
    if (truth?.holds === false) return [state];
    const isOpen = condition !== null && truth === undefined;
    if (isOpen && truths.size >= MAX_CONDITIONS) {
      const distinguished = [policy, ...[...truths.values()].map((truth) => truth.policy)];
      const isUncertain = distinguished.some((one) => one.isUncertain);
      this.budget.leaveOut(isUncertain ? TOO_MANY_UNCERTAIN : TOO_MANY_CONDITIONS);
      return [];
    }
    const assuming = (holds: boolean): Truths => (isOpen ? new Map(truths).set(condition, { policy, holds }) : truths);
    const including = (side: Side): readonly PlannedMatch[] =>
      sides.includes(side) ? [...matched[side], policy] : matched[side];
    const both = { isBefore: including('isBefore'), isAfter: including('isAfter') };
    // Both sides have the same verdict, whichever other policies match.
    const isSame = policy.rules.effect !== 'require_approval' && both.isBefore.length > 0 && both.isAfter.length > 0;
    return [
      ...(isOpen ? [{ ...state, truths: assuming(false) }] : []),
      ...(isSame ? [] : [{ ...state, truths: assuming(true), matched: both }]),
    ];
  }

  private note({ subjects, truths, decided }: WalkState): void {
    const from = decided.isBefore?.verdict ?? NO_POLICY;
    const to = decided.isAfter?.verdict ?? NO_POLICY;
    if (verdictKey(from) === verdictKey(to)) return;
    const because = (side: Side): PlannedMatch[] =>
      (decided[side]?.level ?? [])
        .filter(
          (policy) =>
            policy.rules[side] &&
            (policy.subjects & subjects) !== 0n &&
            (policy.condition === null || truths.get(policy.condition)?.holds !== false),
        )
        .slice(0, MAX_DECIDING_POLICIES);
    this.verdicts.push({ subjects, from, to, truths, because: { from: because('isBefore'), to: because('isAfter') } });
  }
}

export function truthsKey(truths: Truths): string {
  return JSON.stringify([...truths].map(([condition, { holds }]) => [condition, holds]).sort());
}

/** Returns the sides for which it matters whether the policy matches. */
function sidesOf({ rules }: PlannedMatch, { decided, matched }: WalkState): Side[] {
  return (['isBefore', 'isAfter'] as const).filter((side) => {
    if (!rules[side] || decided[side] !== null) return false;
    return rules.approval === null ? matched[side].length === 0 : !addsNoRequirement(rules.approval, matched[side]);
  });
}

/** Groups policies by rank, the highest first; in each group, those without conditions first. */
function levelsOf(policies: readonly PlannedMatch[]): PlannedMatch[][] {
  return [...groupBy(policies, ({ rank }) => [rank])]
    .sort(([left], [right]) => right - left)
    .map(([, level]) => [
      ...level.filter(({ condition }) => condition === null),
      ...level.filter(({ condition }) => condition !== null),
    ]);
}

function reachOf(levels: readonly (readonly PlannedMatch[])[]): bigint[] {
  const reach: bigint[] = [];
  let subjects = 0n;
  for (const level of [...levels].reverse()) {
    for (const policy of level) if (policy.isChanged) subjects |= policy.subjects;
    reach.unshift(subjects);
  }
  return reach;
}

/** Merges verdicts that differ only in subjects. */
function merged(verdicts: readonly CellVerdict[]): CellVerdict[] {
  const byKey = new Map<string, CellVerdict>();
  for (const each of verdicts) {
    const key = `${verdictKey(each.from)} ${verdictKey(each.to)} ${truthsKey(each.truths)}`;
    const earlier = byKey.get(key);
    const subjects = (earlier?.subjects ?? 0n) | each.subjects;
    byKey.set(key, {
      ...(earlier ?? each),
      subjects,
      because: unitedReasons(earlier?.because ?? NO_REASONS, each.because),
    });
  }
  return [...byKey.values()];
}

export const NO_REASONS: CellVerdict['because'] = { from: [], to: [] };

export function unitedReasons(left: CellVerdict['because'], right: CellVerdict['because']): CellVerdict['because'] {
  const both = (side: 'from' | 'to'): PlannedMatch[] =>
    [...new Set([...left[side], ...right[side]])]
      .sort((one, other) => one.index - other.index)
      .slice(0, MAX_DECIDING_POLICIES);
  return { from: both('from'), to: both('to') };
}
