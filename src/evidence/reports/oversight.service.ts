import { Injectable } from '@nestjs/common';
import { yieldBetween, TimeSlice } from '../../core/concurrency/time-slice';
import { invalidField } from '../../core/errors/domain-error';
import { AGENT, type Agent } from '../../governance/agents/agent.entity';
import { periodStart } from '../../governance/policies/limits/limit-window';
import { POLICY } from '../../governance/policies/policy.entity';
import { Gates, callerKey } from '../../http/gates';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Checkpoints } from '../checkpoints/checkpoints.service';
import type { OversightQuery, OversightResponse } from './dto/oversight.response';
import { type Bucket, bucketCount, bucketStarts, type Period, type Span, spanRunsOf, spansOf } from './period';
import { type ChangeKey, isQuick, type Section, Tally, TallyCache } from './tally';
import { type Others, TallyReader } from './tally-reader';
import type { IssuedCheckpoint } from '../checkpoints/checkpoint';

const MAX_BUCKETS = 400;
const THIRTY_DAYS = 30 * 24 * 60 * 60 * 1_000;
/** Most new entries; with more, counting again is quicker than finding out which records they are about. */
const MAX_NEW_ENTRIES = 200_000;
/** Number of policies read at once. */
const CHUNK_SIZE = 1_000;

/** Reports the requests of agents in a period, their outcomes, and the reviewers. Writes nothing. */
@Injectable()
export class OversightService {
  private cache = new TallyCache();

  constructor(
    private readonly reader: TallyReader,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly ledger: LedgerService,
    private readonly checkpoints: Checkpoints,
    private readonly gates: Gates,
  ) {}

  /**
   * @throws VALIDATION_ERROR if the period has too many buckets; UNAVAILABLE if too many other reports of the caller
   * wait; the reason of `signal`
   */
  async report(caller: Caller, query: OversightQuery, signal: AbortSignal): Promise<OversightResponse> {
    const { bucket = 'day' } = query;
    const now = Date.parse(this.ledger.now);
    // A period excludes its end, but the present moment must be included.
    const to = query.to === undefined ? now + 1 : Date.parse(query.to);
    const from = query.from === undefined ? to - THIRTY_DAYS : Date.parse(query.from);
    const period = { from, to };
    if (from > to) throw invalidField('query.from', 'must not be later than to');
    if (bucketCount(period, bucket) > MAX_BUCKETS) {
      throw invalidField('query.bucket', `must divide the period into at most ${MAX_BUCKETS} buckets`);
    }
    const spanTallies = await this.gates
      .get('reports')
      .run(callerKey(caller), () => this.tallySpans(period, now, signal), { signal });
    const summary = await summarise(spanTallies, period, bucket);
    return buildReport(period, summary, {
      agents: await this.agentsOf(agentsIn(summary)),
      unused: await this.unused(new Set(policiesIn(summary))),
      others: await this.reader.others(period),
      checkpoint: await this.checkpoints.issue(),
    });
  }

  /** Counts the spans that have no cached counts; the spans of a run are counted together. */
  private async tallySpans(period: Period, now: number, signal: AbortSignal): Promise<(readonly [Span, Tally])[]> {
    // The head is read before anything is counted, so that cached counts are right as of that entry.
    await this.forgetChanged(await this.counters.headSequence(), signal);
    const spans: Span[] = [];
    const tallyBySpan = new Map<Span, Tally | undefined>();
    for await (const span of yieldBetween(spansOf(period, now))) {
      spans.push(span);
      tallyBySpan.set(span, span.isCacheable ? this.cache.get(span.name) : undefined);
    }
    for (const run of spanRunsOf(spans.filter((span) => tallyBySpan.get(span) === undefined))) {
      const counts = await this.reader.count(run, signal);
      for await (const [index, span] of yieldBetween(run.entries())) {
        const tally = counts[index] ?? new Tally();
        tallyBySpan.set(span, tally);
        if (span.isCacheable) this.cache.keep(span.name, tally);
      }
    }
    return spans.map((span) => [span, tallyBySpan.get(span) ?? new Tally()] as const);
  }

  private async forgetChanged(head: number, signal: AbortSignal): Promise<void> {
    if (head - this.cache.asOf > MAX_NEW_ENTRIES) this.cache = new TallyCache();
    const { cache } = this;
    if (!cache.isEmpty) {
      const turn = new TimeSlice();
      for await (const hour of this.reader.changedHours(cache.asOf, head)) {
        signal.throwIfAborted();
        cache.forget(hour);
        if (turn.isOver) await turn.next();
      }
    }
    cache.asOf = head;
  }

  private async agentsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Agent>> {
    const keys = [...new Set(ids)].map((id) => [id]);
    const agents = await this.records.allAmong(AGENT, ['id'], keys);
    return new Map(agents.map((agent) => [agent.id, agent]));
  }

  /** Returns the policies in force that decided nothing, oldest first. */
  private async unused(decided: ReadonlySet<string>): Promise<OversightResponse['unused'][number][]> {
    const conditions = [{ column: 'status', comparison: 'equals', value: 'active' }] as const;
    const range = { conditions, order: 'asc', position: null, atOnce: CHUNK_SIZE } as const;
    const unused: OversightResponse['unused'][number][] = [];
    for await (const chunk of this.records.columns(POLICY, ['id', 'name', 'version'], range)) {
      for (const { id, name, version } of chunk) if (!decided.has(id)) unused.push({ id, name, version });
    }
    return unused;
  }
}

/** Maximum number of agents in a report. */
const MAX_AGENTS = 100;
const ANSWERS = ['allowed', 'denied', 'approval_requested'] as const;
const IN_BUCKETS = [...ANSWERS, 'outcomes', 'observed'] as const;

/** Sums of the spans of a period: of all, and of each bucket, by its beginning. */
interface Summary {
  readonly all: Tally;
  readonly buckets: ReadonlyMap<number, Tally>;
}

async function summarise(
  spanTallies: readonly (readonly [Span, Tally])[],
  period: Period,
  bucket: Bucket,
): Promise<Summary> {
  const all = new Tally();
  const buckets = new Map(bucketStarts(period, bucket).map((start) => [start, new Tally()]));
  for await (const [{ from }, tally] of yieldBetween(spanTallies)) {
    all.addAll(tally);
    buckets.get(periodStart(bucket, from))?.addAll(tally, IN_BUCKETS);
  }
  return { all, buckets };
}

function agentsIn({ all }: Summary): string[] {
  return [...mostActiveAgents(all), ...reviewersIn(all)].filter((key) => key !== '');
}

function policiesIn({ all }: Summary): string[] {
  return [...all.countsIn('policies').keys()].map((key) => policyOf(key).id);
}

/** Members of a report that are not counted. */
interface Context extends Pick<OversightResponse, 'unused'> {
  readonly others: Others;
  /** Agents by id. */
  readonly agents: ReadonlyMap<string, Pick<Agent, 'name' | 'team'>>;
  readonly checkpoint: IssuedCheckpoint;
}

function buildReport({ from, to }: Period, { all, buckets }: Summary, context: Context): OversightResponse {
  const { agents, unused, others, checkpoint } = context;
  const agentName = (id: string): string => agents.get(id)?.name ?? id;
  const countIn = (section: Section, key: string): number => all.countsIn(section).get(key) ?? 0;
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    requests: [...buckets].map(([start, tally]) => requestsIn(start, tally)),
    reasons: mostFirst(all.countsIn('reasons')).map(([reason, count]) => ({ reason, count })),
    agents: mostActiveAgents(all).map((agentId) => ({
      agentId,
      name: agentName(agentId),
      team: agents.get(agentId)?.team ?? null,
      allowed: countIn('allowed', agentId),
      denied: countIn('denied', agentId),
      approvals: countIn('approval_requested', agentId),
    })),
    approvals: {
      ...approvalsIn(all),
      byReviewer: reviewersIn(all).map((key) => ({
        ...(key === '' ? { agentId: null, name: null } : { agentId: key, name: agentName(key) }),
        approved: countIn('approve', key),
        rejected: countIn('reject', key),
        withinTenSeconds: countIn('quick', key),
      })),
    },
    changes: changesIn(all),
    policies: mostFirst(all.countsIn('policies')).map(([key, decided]) => ({ policy: policyOf(key), decided })),
    unused,
    grants: { minted: others.grants, used: all.total('granted') },
    stops: others.stops,
    erasures: others.erasures,
    chain: { size: checkpoint.size, checkpoint: checkpoint.text },
  };
}

function mostActiveAgents(all: Tally): string[] {
  return mostFirst(all.sums(ANSWERS))
    .slice(0, MAX_AGENTS)
    .map(([agentId]) => agentId);
}

/** Returns the keys of reviewers, those with the most verdicts first: see `countDecision`. */
function reviewersIn(all: Tally): string[] {
  return mostFirst(all.sums(['approve', 'reject'])).map(([key]) => key);
}

function requestsIn(start: number, tally: Tally): OversightResponse['requests'][number] {
  const outcomes = tally.countsIn('outcomes');
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

function approvalsIn(all: Tally): Omit<OversightResponse['approvals'], 'byReviewer'> {
  const ended = (status: string): number => all.countsIn('statuses').get(status) ?? 0;
  const settled = [...all.countsIn('settled')]
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
  };
}

function changesIn(all: Tally): OversightResponse['changes'] {
  const count = (key: ChangeKey): number => all.countsIn('changes').get(key) ?? 0;
  return {
    proposed: count('proposed'),
    approved: count('approved'),
    rejected: count('rejected'),
    made: count('made'),
    breakGlass: count('breakGlass'),
    unreviewed: count('unreviewed'),
  };
}

type Times = readonly (readonly [milliseconds: number, count: number])[];

/** Returns the seconds at a quantile by nearest rank, which is always one of the times; null if there are none. */
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

/** Returns the counts, the largest first, equal ones by their keys. */
function mostFirst(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([left, few], [right, many]) => many - few || (left < right ? -1 : 1));
}
