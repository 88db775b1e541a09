import { Turn } from '../../core/concurrency/turn';
import type { IssuedCheckpoint } from '../checkpoints/checkpoint';
import type { OversightResponse } from './dto/oversight.response';
import { type Bucket, bucketStart, bucketStarts, type Period, type Span } from './period';
import { isQuick, type Section, Tally } from './tally';

/** Most agents that a report names. */
const MOST_AGENTS = 100;
const ANSWERS = ['allowed', 'denied', 'approval_requested'] as const;
const IN_BUCKETS = [...ANSWERS, 'outcomes', 'observed'] as const;

type Nameless<Counts> = Omit<Counts, 'name'>;

/** What was counted in a period; names of agents are found later. */
export interface Oversight extends Pick<OversightResponse, 'requests' | 'reasons' | 'policies'> {
  readonly agents: readonly Nameless<AgentCounts>[];
  readonly approvals: ApprovalCounts;
  /** Executions that a grant served. */
  readonly granted: number;
}

type AgentCounts = OversightResponse['agents'][number];
type ReviewerCounts = Nameless<OversightResponse['approvals']['byReviewer'][number]>;
type ApprovalCounts = Omit<OversightResponse['approvals'], 'byReviewer'> & {
  readonly byReviewer: readonly ReviewerCounts[];
};

/** What was counted in each span, put together. */
export async function oversightOf(
  counted: readonly (readonly [Span, Tally])[],
  period: Period,
  bucket: Bucket,
): Promise<Oversight> {
  const turn = new Turn();
  const all = new Tally();
  const buckets = new Map(bucketStarts(period, bucket).map((start) => [start, new Tally()]));
  for (const [{ from }, tally] of counted) {
    if (turn.isOver) await turn.next();
    all.addAll(tally);
    buckets.get(bucketStart(from, bucket))?.addAll(tally, IN_BUCKETS);
  }
  return {
    requests: [...buckets].map(([start, tally]) => requestsIn(start, tally)),
    reasons: mostFirst(all.of('reasons')).map(([reason, count]) => ({ reason, count })),
    agents: agentsIn(all),
    approvals: approvalsIn(all),
    granted: all.total('granted'),
    policies: mostFirst(all.of('policies')).map(([key, decided]) => ({ policy: policyOf(key), decided })),
  };
}

/** What a report says besides what was counted. */
interface Beside extends Pick<OversightResponse, 'unused'> {
  /** How many were made in the period. */
  readonly others: { readonly stops: number; readonly erasures: number; readonly grants: number };
  /** Of agents, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly checkpoint: IssuedCheckpoint;
}

export function reported({ from, to }: Period, counted: Oversight, beside: Beside): OversightResponse {
  const { requests, reasons, agents, approvals, granted, policies } = counted;
  const { names, unused, others, checkpoint } = beside;
  const named = (id: string): string => names.get(id) ?? id;
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    requests,
    reasons,
    agents: agents.map(({ agentId, ...counts }) => ({ agentId, name: named(agentId), ...counts })),
    approvals: {
      ...approvals,
      byReviewer: approvals.byReviewer.map(({ agentId, ...counts }) => {
        return { agentId, name: agentId === null ? null : named(agentId), ...counts };
      }),
    },
    policies,
    unused,
    grants: { minted: others.grants, used: granted },
    stops: others.stops,
    erasures: others.erasures,
    chain: { size: checkpoint.size, checkpoint: checkpoint.text },
  };
}

function requestsIn(start: number, tally: Tally): OversightResponse['requests'][number] {
  const outcomes = tally.of('outcomes');
  return {
    start: new Date(start).toISOString(),
    allowed: tally.total('allowed'),
    denied: tally.total('denied'),
    approval_requested: tally.total('approval_requested'),
    executed: outcomes.get('executed') ?? 0,
    failed: outcomes.get('failed') ?? 0,
    observed: tally.total('observed'),
  };
}

function agentsIn(all: Tally): Nameless<AgentCounts>[] {
  return mostFirst(all.sums(ANSWERS))
    .slice(0, MOST_AGENTS)
    .map(([agentId]) => {
      const of = (answer: Section): number => all.of(answer).get(agentId) ?? 0;
      return { agentId, allowed: of('allowed'), denied: of('denied'), approvals: of('approval_requested') };
    });
}

function approvalsIn(all: Tally): ApprovalCounts {
  const ended = (status: string): number => all.of('statuses').get(status) ?? 0;
  const settled = [...all.of('settled')]
    .map(([milliseconds, count]) => [Number(milliseconds), count] as const)
    .sort(([left], [right]) => left - right);
  const quick = settled.filter(([milliseconds]) => isQuick(milliseconds));
  return {
    proposed: all.total('statuses'),
    approved: ended('approved'),
    rejected: ended('rejected'),
    expired: ended('expired'),
    cancelled: ended('cancelled'),
    medianSeconds: secondsAt(settled, 0.5),
    p95Seconds: secondsAt(settled, 0.95),
    withinTenSeconds: countOf(quick),
    byReviewer: reviewersIn(all),
  };
}

function reviewersIn(all: Tally): ReviewerCounts[] {
  return mostFirst(all.sums(['approve', 'reject'])).map(([key]) => ({
    agentId: key === '' ? null : key,
    approved: all.of('approve').get(key) ?? 0,
    rejected: all.of('reject').get(key) ?? 0,
    withinTenSeconds: all.of('quick').get(key) ?? 0,
  }));
}

type Times = readonly (readonly [milliseconds: number, count: number])[];

/** The seconds at a quantile by nearest rank, which is always one of the times; null when there are none. */
function secondsAt(ascending: Times, quantile: number): number | null {
  let rank = Math.ceil(countOf(ascending) * quantile);
  for (const [milliseconds, count] of ascending) {
    rank -= count;
    if (rank <= 0) return milliseconds / 1_000;
  }
  return null;
}

function countOf(times: Times): number {
  return times.reduce((sum, [, count]) => sum + count, 0);
}

function policyOf(key: string): OversightResponse['unused'][number] {
  const [id, name, version] = JSON.parse(key) as [string, string, string];
  return { id, name, version };
}

/** The largest first, equal ones by their keys. */
function mostFirst(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([left, few], [right, many]) => many - few || (left < right ? -1 : 1));
}
