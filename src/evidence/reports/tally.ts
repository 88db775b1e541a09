import type { Execution } from '../../governance/executions/execution.entity';
import { isChangeReview } from '../../governance/decisions/changes/change';
import type { Decision, Review } from '../../governance/decisions/decision.entity';
import type { DecidingPolicy } from '../../governance/policies/evaluation/evaluation';

/** Milliseconds in which hardly anybody can read what they decide. */
const TEN_SECONDS = 10_000;

/** Names of counts, each with its own keys: see `countExecutions` and `countDecision`. */
export type Section =
  | 'allowed'
  | 'denied'
  | 'approval_requested'
  | 'outcomes'
  | 'observed'
  | 'granted'
  | 'reasons'
  | 'policies'
  | 'statuses'
  | 'settled'
  | 'approve'
  | 'reject'
  | 'quick'
  | 'changes';

/** Counts by section and key. */
export class Tally {
  private readonly sections = new Map<Section, Map<string, number>>();

  /** Number of counts. */
  get size(): number {
    return [...this.sections.values()].reduce((sum, counts) => sum + counts.size, 0);
  }

  add(section: Section, key: string, count: number): void {
    const counts = this.sections.get(section) ?? new Map<string, number>();
    this.sections.set(section, counts);
    counts.set(key, (counts.get(key) ?? 0) + count);
  }

  /** Adds the counts of another tally, or some sections of them. */
  addAll(other: Tally, sections: Iterable<Section> = other.sections.keys()): void {
    for (const section of sections) {
      for (const [key, count] of other.countsIn(section)) this.add(section, key, count);
    }
  }

  countsIn(section: Section): ReadonlyMap<string, number> {
    return this.sections.get(section) ?? new Map();
  }

  /** Returns, for each key, the sum of its counts in the sections. */
  sums(sections: readonly Section[]): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const section of sections) {
      for (const [key, count] of this.countsIn(section)) sums.set(key, (sums.get(key) ?? 0) + count);
    }
    return sums;
  }

  total(section: Section): number {
    return [...this.countsIn(section).values()].reduce((sum, count) => sum + count, 0);
  }
}

/** A group of executions with equal values in all counted columns. */
export interface AlikeExecutions extends Pick<Execution, 'agentId' | 'outcome' | 'reason'> {
  /** 1 if an approval was requested, or an earlier rejection refused the execution; otherwise 0. */
  readonly hasDecision: number;
  /** 1 if a grant covered the execution, otherwise 0. */
  readonly hasGrant: number;
  /** JSON, as stored. */
  readonly observed: string;
  readonly policies: string;
  readonly count: number;
}

/** Counts executions by their first answer, and by their outcome. */
export function countExecutions(tally: Tally, alike: AlikeExecutions): void {
  const { agentId, outcome, reason, count } = alike;
  const unlessDenied = alike.hasDecision === 1 ? 'approval_requested' : 'allowed';
  tally.add(outcome === 'denied' ? 'denied' : unlessDenied, agentId, count);
  tally.add('outcomes', outcome, count);
  if (outcome === 'denied' && reason !== null) tally.add('reasons', reason, count);
  if (alike.observed === 'true') tally.add('observed', '', count);
  if (alike.hasGrant === 1) tally.add('granted', '', count);
  for (const { id, name, version } of JSON.parse(alike.policies) as DecidingPolicy[]) {
    tally.add('policies', JSON.stringify([id, name, version]), count);
  }
}

type CountedDecision = Pick<Decision, 'type' | 'status' | 'createdAt' | 'resolvedAt' | 'reviews' | 'change'>;

/** Counts a decision by its status, its milliseconds until it was settled, and its reviewers. */
export function countDecision(tally: Tally, decision: CountedDecision): void {
  const { status, createdAt, resolvedAt, reviews } = decision;
  tally.add('statuses', status, 1);
  for (const key of changeKeys(decision)) tally.add('changes', key, 1);
  const isSettled = status === 'approved' || status === 'rejected';
  if (isSettled && resolvedAt !== null) tally.add('settled', String(millisecondsBetween(createdAt, resolvedAt)), 1);
  for (const review of reviews) {
    const reviewer = reviewerKey(review);
    tally.add(review.verdict, reviewer, 1);
    if (isQuick(millisecondsBetween(createdAt, review.createdAt))) tally.add('quick', reviewer, 1);
  }
}

/** Keys of counts for a decision on a change. */
export type ChangeKey = 'proposed' | 'approved' | 'rejected' | 'made' | 'breakGlass' | 'unreviewed';

function changeKeys(decision: CountedDecision): ChangeKey[] {
  const { change, status } = decision;
  if (change === null) return [];
  if (isChangeReview(decision)) return status === 'proposed' ? ['breakGlass', 'unreviewed'] : ['breakGlass'];
  const settled = status === 'approved' || status === 'rejected' ? [status] : [];
  return ['proposed', ...settled, ...(change.madeAt === undefined ? [] : (['made'] as const))];
}

export function isQuick(milliseconds: number): boolean {
  return milliseconds <= TEN_SECONDS;
}

/** Returns the reviewer's id; empty for the holder of a key who named nobody. */
function reviewerKey({ approverId }: Review): string {
  return approverId ?? '';
}

function millisecondsBetween(start: string, end: string): number {
  return Date.parse(end) - Date.parse(start);
}

/** Maximum number of cached counts, some 50 MB. */
const MAX_CACHED_COUNTS = 500_000;

/** The tally of all cached hours in which nothing was counted. */
const EMPTY = new Tally();

/**
 * Caches the tallies of past hours until one of their records changes. Half of the capacity is for the newest tallies;
 * when they fill it, the older half is dropped at once. Dropping tallies one by one would take time that grows with the
 * square of their number, because a `Map` passes over everything that was removed at its front.
 */
export class TallyCache {
  private newest = new Map<string, Tally>();
  private older = new Map<string, Tally>();
  /** Size of the newest tallies. */
  private size = 0;
  /** Sequence of the entry as of which the cache is right. */
  asOf = 0;

  constructor(private readonly capacity = MAX_CACHED_COUNTS) {}

  get isEmpty(): boolean {
    return this.newest.size + this.older.size === 0;
  }

  get(name: string): Tally | undefined {
    return this.newest.get(name) ?? this.older.get(name);
  }

  /** Caches a tally, which nobody may change afterwards. */
  keep(name: string, tally: Tally): void {
    this.forget(name);
    this.newest.set(name, tally.size === 0 ? EMPTY : tally);
    this.size += sizeOf(tally);
    if (this.size <= this.capacity / 2) return;
    this.older = this.newest;
    this.newest = new Map();
    this.size = 0;
  }

  forget(name: string): void {
    const tally = this.newest.get(name);
    if (tally !== undefined && this.newest.delete(name)) this.size -= sizeOf(tally);
    this.older.delete(name);
  }
}

/** Returns the size of a tally, where even an empty one takes memory. */
function sizeOf(tally: Tally): number {
  return tally.size + 1;
}
