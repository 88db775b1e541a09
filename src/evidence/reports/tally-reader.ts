import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { DECISION } from '../../governance/decisions/decision.entity';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition } from '../../ledger/kinds/record-page';
import { type Period, SPAN_NAME_LENGTH, type SpanRun } from './period';
import { type AlikeExecutions, countDecision, countExecutions, Tally } from './tally';

/** Most executions counted, or entries examined, by one statement, which takes some 20 ms of one reading connection. */
const SLICE = 5_000;
/** Most milliseconds between two slices. */
const MAX_PAUSE_MS = 10;
/** Decisions read at once. */
const DECISIONS = 250;

/** Selects the first record since a time. Records are created in the order of time, each at the time of its entry. */
const FIRST_SINCE = `SELECT "sequence" FROM "ledger_entries" WHERE "timestamp" >= $1 ORDER BY "timestamp", "sequence" LIMIT 1`;
const IS_THERE = (column: string): string => `CASE WHEN "${column}" IS NULL THEN 0 ELSE 1 END`;
/** SQL for the hour in which a record was created, in the form of a span's name. */
const HOUR_OF = (createdAt: string): string => `substr(${createdAt}, 1, ${SPAN_NAME_LENGTH})`;
/** Counts the next executions after `$1` and before `$2`; those with equal values are one row. */
const COUNT_ALIKE =
  `SELECT ${HOUR_OF('"createdAt"')} AS "name", "agentId", "outcome", "reason", "hasDecision", "hasGrant", "observed", "policies", ` +
  `count(*) AS "count", max("createdSequence") AS "last" FROM (SELECT "createdSequence", "createdAt", "agentId", "outcome", "reason", ` +
  `${IS_THERE('decisionId')} AS "hasDecision", ${IS_THERE('grantId')} AS "hasGrant", "observed", "policies" FROM "executions" ` +
  `WHERE "createdSequence" > $1 AND "createdSequence" < $2 ORDER BY "createdSequence" LIMIT ${SLICE}) AS slice ` +
  `GROUP BY 1, "agentId", "outcome", "reason", "hasDecision", "hasGrant", "observed", "policies"`;
/** Selects the hours of creation of the records that entries after `$1`, up to `$2`, are about. */
const CHANGED = (table: string): string =>
  `SELECT DISTINCT ${HOUR_OF('record."createdAt"')} AS "hour" FROM "ledger_entries" AS entry ` +
  `JOIN "${table}" AS record ON record."id" = entry."subjectId" WHERE entry."sequence" > $1 AND entry."sequence" <= $2`;
const CHANGED_HOURS = `${CHANGED('executions')} UNION ${CHANGED('decisions')}`;
const CREATED = (table: string): string =>
  `(SELECT count(*) FROM "${table}" WHERE "createdSequence" >= $1 AND "createdSequence" < $2)`;
const OTHERS = ['stops', 'erasures', 'grants'] as const;
const COUNT_CREATED = `SELECT ${OTHERS.map((table) => `${CREATED(table)} AS "${table}"`).join(', ')}`;

/** Numbers of other records made in a period. */
export type Others = Readonly<Record<(typeof OTHERS)[number], number>>;

/** Sequences of the ledger: the first of a period, and the first after it. */
interface SequenceRange {
  readonly first: number;
  readonly end: number;
}

type AlikeRow = AlikeExecutions & { readonly name: string; readonly last: number };

/** Reads the counted records in slices, between which other requests are served. */
@Injectable()
export class TallyReader {
  constructor(
    private readonly database: Database,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
  ) {}

  /** Returns the counts of the spans of a run, in their order. */
  async count(run: SpanRun, signal: AbortSignal): Promise<Tally[]> {
    const tallies = new Map(run.map(({ name }) => [name, new Tally()]));
    const sequences = await this.sequencesIn({ from: run[0].from, to: run.at(-1)?.to ?? run[0].to });
    await this.countExecutions(tallies, sequences, signal);
    await this.countDecisions(tallies, sequences, signal);
    return [...tallies.values()];
  }

  /**
   * Hours whose executions and decisions changed after the sequence `after`, up to `upTo`.
   */
  async *changedHours(after: number, upTo: number): AsyncGenerator<string> {
    for (let start = after; start < upTo; start += SLICE) {
      const bounds = [start, Math.min(start + SLICE, upTo)];
      for (const { hour } of await this.database.chain.all<{ hour: string }>(CHANGED_HOURS, bounds)) yield hour;
    }
  }

  /** Stops, erasures and grants made in a period. */
  async others(period: Period): Promise<Others> {
    const { first, end } = await this.sequencesIn(period);
    const [counts] = await this.database.chain.all<Others>(COUNT_CREATED, [first, end]);
    if (counts === undefined) throw new Error('A query without a table returned no row.');
    return counts;
  }

  private async sequencesIn({ from, to }: Period): Promise<SequenceRange> {
    const afterAll = (await this.counters.headSequence()) + 1;
    const firstSince = async (moment: number): Promise<number> => {
      const at = new Date(moment).toISOString();
      const [entry] = await this.database.chain.all<{ sequence: number }>(FIRST_SINCE, [at]);
      return entry?.sequence ?? afterAll;
    };
    return { first: await firstSince(from), end: await firstSince(to) };
  }

  private async countExecutions(
    tallies: ReadonlyMap<string, Tally>,
    { first, end }: SequenceRange,
    signal: AbortSignal,
  ): Promise<void> {
    for (let after = first - 1, more = true; more;) {
      signal.throwIfAborted();
      const began = performance.now();
      const rows = await this.database.chain.all<AlikeRow>(COUNT_ALIKE, [after, end]);
      let read = 0;
      for await (const row of yieldBetween(rows)) {
        const tally = tallies.get(row.name);
        if (tally !== undefined) countExecutions(tally, row);
        read += row.count;
        after = Math.max(after, row.last);
      }
      more = read === SLICE;
      // Leaves the processor to other work for as long as this slice took. There is a maximum, because a slice that
      // waited for a slow disk has not used the processor.
      if (more) await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
    }
  }

  private async countDecisions(
    tallies: ReadonlyMap<string, Tally>,
    { first, end }: SequenceRange,
    signal: AbortSignal,
  ): Promise<void> {
    const upTo: Condition = { column: 'createdSequence', comparison: 'atMost', value: end - 1 };
    const range = { conditions: [upTo], order: 'asc', position: first - 1, atOnce: DECISIONS } as const;
    const columns = ['type', 'status', 'createdAt', 'resolvedAt', 'reviews', 'change'] as const;
    for await (const chunk of this.records.columns(DECISION, columns, range, SYSTEM_CALLER)) {
      signal.throwIfAborted();
      for await (const decision of yieldBetween(chunk)) {
        const tally = tallies.get(decision.createdAt.slice(0, SPAN_NAME_LENGTH));
        if (tally !== undefined) countDecision(tally, decision);
      }
    }
  }
}
