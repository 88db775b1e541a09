import { Injectable } from '@nestjs/common';
import { Turn } from '../../core/concurrency/turn';
import { invalidField } from '../../core/errors/domain-error';
import { AGENT } from '../../governance/agents/agent.entity';
import { POLICY } from '../../governance/policies/policy.entity';
import { Gates, nameOf } from '../../http/gates';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Checkpoints } from '../checkpoints/checkpoints.service';
import type { OversightQuery, OversightResponse } from './dto/oversight.response';
import { KeptTallies } from './kept-tallies';
import { oversightOf, reported } from './oversight';
import { bucketCount, gapsOf, type Period, type Span, spansOf } from './period';
import { Tally } from './tally';
import { TallyReader } from './tally-reader';

const MOST_BUCKETS = 400;
const THIRTY_DAYS = 30 * 24 * 60 * 60 * 1_000;
/** With more new entries than this, counting again is quicker than finding out which records they are about. */
const MOST_LOOKED_AT = 200_000;
/** Policies read at once. */
const CHUNK = 1_000;

/** What agents asked for in a period, what became of it, and who answered for it. Writes nothing. */
@Injectable()
export class OversightService {
  private readonly kept = new KeptTallies();

  constructor(
    private readonly reader: TallyReader,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly ledger: LedgerService,
    private readonly checkpoints: Checkpoints,
    private readonly gates: Gates,
  ) {}

  /**
   * @throws VALIDATION_ERROR when the period has too many buckets; UNAVAILABLE when too many other reports of the
   * caller wait; the reason of `leaving`.
   */
  async report(caller: Caller, query: OversightQuery, leaving: AbortSignal): Promise<OversightResponse> {
    const { bucket = 'day' } = query;
    const now = Date.parse(this.ledger.now);
    // Its end is not part of a period, but what happens now is.
    const to = query.to === undefined ? now + 1 : Date.parse(query.to);
    const from = query.from === undefined ? to - THIRTY_DAYS : Date.parse(query.from);
    const period = { from, to };
    if (from > to) throw invalidField('query.from', 'must not be later than to');
    if (bucketCount(period, bucket) > MOST_BUCKETS) {
      throw invalidField('query.bucket', `must divide the period into at most ${MOST_BUCKETS} buckets`);
    }
    const counted = await this.gates
      .of('reports')
      .run(nameOf(caller), () => this.counted(period, now, leaving), { leaving });
    const found = await oversightOf(counted, period, bucket);
    const { agents, approvals } = found;
    return reported(period, found, {
      names: await this.namesOf([...agents, ...approvals.byReviewer].flatMap(({ agentId }) => agentId ?? [])),
      unused: await this.unused(new Set(found.policies.map(({ policy }) => policy.id))),
      others: await this.reader.others(period),
      checkpoint: await this.checkpoints.issue(),
    });
  }

  /** What is not kept is counted: neighbouring spans together. */
  private async counted(period: Period, now: number, leaving: AbortSignal): Promise<(readonly [Span, Tally])[]> {
    // The head is read before anything is counted, so that all that is kept is right as of that entry.
    await this.forgetChanged(await this.counters.headSequence(), leaving);
    const spans = spansOf(period, now);
    const found = new Map(spans.map((span) => [span, this.kept.of(span.name)]));
    for (const gap of gapsOf(spans.filter((span) => found.get(span) === undefined))) {
      const tallies = await this.reader.count(gap, leaving);
      gap.forEach((span, index) => {
        const tally = tallies[index] ?? new Tally();
        found.set(span, tally);
        if (span.isKept) this.kept.keep(span.name, tally);
      });
    }
    return spans.map((span) => [span, found.get(span) ?? new Tally()] as const);
  }

  private async forgetChanged(head: number, leaving: AbortSignal): Promise<void> {
    const { kept } = this;
    if (head - kept.asOf > MOST_LOOKED_AT) kept.forgetAll();
    if (!kept.isEmpty) {
      const turn = new Turn();
      for await (const minute of this.reader.changedMinutes(kept.asOf, head)) {
        leaving.throwIfAborted();
        kept.change(minute);
        if (turn.isOver) await turn.next();
      }
    }
    kept.asOf = head;
  }

  private async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const keys = [...new Set(ids)].map((id) => [id]);
    const agents = await this.records.allAmong(AGENT, ['id'], keys);
    return new Map(agents.map(({ id, name }) => [id, name]));
  }

  /** The policies in force that are not among those that decided, oldest first. */
  private async unused(decided: ReadonlySet<string>): Promise<OversightResponse['unused'][number][]> {
    const conditions = [{ column: 'status', comparison: 'equals', value: 'active' }] as const;
    const range = { conditions, order: 'asc', position: null, atOnce: CHUNK } as const;
    const unused: OversightResponse['unused'][number][] = [];
    for await (const chunk of this.records.columns(POLICY, ['id', 'name', 'version'], range)) {
      for (const { id, name, version } of chunk) if (!decided.has(id)) unused.push({ id, name, version });
    }
    return unused;
  }
}
