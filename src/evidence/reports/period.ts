import { LENGTHS, periodStart } from '../../governance/policies/limits/limit-window';

/** Units of time by which a report groups its counts. */
export const BUCKETS = ['hour', 'day', 'week'] as const;
export type Bucket = (typeof BUCKETS)[number];

/** A period in milliseconds since 1970; it includes `from` and excludes `to`. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/**
 * A clock hour within a period, or the part of that hour inside the period. Its records are counted together.
 */
export interface Span extends Period {
  /** Prefix of all ISO 8601 times in the span, for example `2026-11-20T06`. */
  readonly name: string;
  /** True if the span is a whole hour that has passed, so that its counts can be cached. */
  readonly isCacheable: boolean;
}

/** Spans of which each begins where the previous one ends. They are counted together. */
export type SpanRun = readonly [Span, ...Span[]];

/** Length of a span's name in characters. */
export const SPAN_NAME_LENGTH = 'YYYY-MM-DDTHH'.length;

/** Returns the number of buckets that a period touches. */
export function bucketCount({ from, to }: Period, bucket: Bucket): number {
  return from >= to ? 0 : (periodStart(bucket, to - 1) - periodStart(bucket, from)) / LENGTHS[bucket] + 1;
}

/** Returns the beginnings of the buckets that a period touches. */
export function bucketStarts(period: Period, bucket: Bucket): number[] {
  const first = periodStart(bucket, period.from);
  return Array.from({ length: bucketCount(period, bucket) }, (_, index) => first + index * LENGTHS[bucket]);
}

/** Yields the parts of a period that is divided at full hours. @param now current time in milliseconds since 1970 */
export function* spansOf({ from, to }: Period, now: number): Generator<Span> {
  for (let start = from; start < to;) {
    const end = Math.min(periodStart('hour', start) + LENGTHS.hour, to);
    const name = new Date(start).toISOString().slice(0, SPAN_NAME_LENGTH);
    yield { from: start, to: end, name, isCacheable: end - start === LENGTHS.hour && end <= now };
    start = end;
  }
}

/** Groups spans into runs; each span of a run begins where the previous one ends. */
export function spanRunsOf(spans: readonly Span[]): SpanRun[] {
  const runs: [Span, ...Span[]][] = [];
  for (const span of spans) {
    const run = runs.at(-1);
    if (run?.at(-1)?.to === span.from) run.push(span);
    else runs.push([span]);
  }
  return runs;
}
