import { LENGTHS, startOf } from '../../governance/policies/limits/limit-window';

/** Lengths of a bucket. */
export const BUCKETS = ['hour', 'day', 'week'] as const;
export type Bucket = (typeof BUCKETS)[number];

/** First millisecond since 1970 of a period, and the first after it. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** An hour of a period, or the part of one, in which everything is counted together. */
export interface Span extends Period {
  /** Common beginning of the texts of its times. */
  readonly name: string;
  /** True if it is a whole hour that has passed, so that its counts can be cached. */
  readonly isKept: boolean;
}

/** Neighbouring spans, which are counted together. */
export type Gap = readonly [Span, ...Span[]];

/** Length of the name of a span. */
export const NAME_LENGTH = 'YYYY-MM-DDTHH'.length;

/** Returns the number of buckets that a period touches. */
export function bucketCount({ from, to }: Period, bucket: Bucket): number {
  return from >= to ? 0 : (startOf(bucket, to - 1) - startOf(bucket, from)) / LENGTHS[bucket] + 1;
}

/** Returns the beginnings of the buckets that a period touches. */
export function bucketStarts(period: Period, bucket: Bucket): number[] {
  const first = startOf(bucket, period.from);
  return Array.from({ length: bucketCount(period, bucket) }, (_, index) => first + index * LENGTHS[bucket]);
}

/** Divides a period by hours. */
export function spansOf({ from, to }: Period, now: number): Span[] {
  const spans: Span[] = [];
  for (let start = from; start < to;) {
    const end = Math.min(startOf('hour', start) + LENGTHS.hour, to);
    const name = new Date(start).toISOString().slice(0, NAME_LENGTH);
    spans.push({ from: start, to: end, name, isKept: end - start === LENGTHS.hour && end <= now });
    start = end;
  }
  return spans;
}

/** Returns runs of consecutive spans. */
export function gapsOf(spans: readonly Span[]): Gap[] {
  const gaps: [Span, ...Span[]][] = [];
  for (const span of spans) {
    const gap = gaps.at(-1);
    if (gap?.at(-1)?.to === span.from) gap.push(span);
    else gaps.push([span]);
  }
  return gaps;
}
