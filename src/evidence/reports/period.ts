/** How long a bucket is. */
export const BUCKETS = ['hour', 'day', 'week'] as const;
export type Bucket = (typeof BUCKETS)[number];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const LENGTHS: Readonly<Record<Bucket, number>> = { hour: HOUR, day: DAY, week: WEEK };
/** 1970 began on a Thursday; weeks begin on Monday. */
const FIRST_MONDAY = 4 * DAY;

/** Milliseconds since 1970: its first moment, and the first after it. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** A part of a period, in which everything is counted together. */
export interface Span extends Period {
  /** Beginning of the times in it, as texts: of a whole hour, or of a minute. */
  readonly name: string;
  /** Whether it is a whole hour or minute that has passed, so that its counts can be kept. */
  readonly isKept: boolean;
}

/** Neighbouring spans whose names are equally long, so that they can be counted together. */
export type Gap = readonly [Span, ...Span[]];

/** Where the bucket begins that a moment is in: at midnight UTC, on Monday. */
export function bucketStart(moment: number, bucket: Bucket): number {
  const origin = bucket === 'week' ? FIRST_MONDAY : 0;
  return floored(moment - origin, LENGTHS[bucket]) + origin;
}

/** How many buckets a period touches. */
export function bucketCount({ from, to }: Period, bucket: Bucket): number {
  return from >= to ? 0 : (bucketStart(to - 1, bucket) - bucketStart(from, bucket)) / LENGTHS[bucket] + 1;
}

/** The beginnings of the buckets that a period touches. */
export function bucketStarts(period: Period, bucket: Bucket): number[] {
  const first = bucketStart(period.from, bucket);
  return Array.from({ length: bucketCount(period, bucket) }, (_, index) => first + index * LENGTHS[bucket]);
}

/**
 * Divides a period into whole hours, and into minutes where an hour is cut off or not over yet: a report requested a
 * minute later then reuses most counts.
 */
export function spansOf({ from, to }: Period, now: number): Span[] {
  const spans: Span[] = [];
  for (let start = from; start < to;) {
    const isHour = start % HOUR === 0 && start + HOUR <= to && (start + HOUR <= now || start > now);
    const length = isHour ? HOUR : MINUTE;
    const end = Math.min(floored(start, length) + length, to);
    const isWhole = end - start === length;
    spans.push({ from: start, to: end, name: nameOf(start, isHour), isKept: isWhole && end <= now });
    start = end;
  }
  return spans;
}

/** Runs of spans that follow each other. */
export function gapsOf(spans: readonly Span[]): Gap[] {
  const gaps: [Span, ...Span[]][] = [];
  for (const span of spans) {
    const gap = gaps.at(-1);
    const before = gap?.at(-1);
    if (before?.to === span.from && before.name.length === span.name.length) gap?.push(span);
    else gaps.push([span]);
  }
  return gaps;
}

/** The names of the spans that a minute can be in. */
export function spansWith(minute: string): readonly string[] {
  return [minute, minute.slice(0, 'YYYY-MM-DDTHH'.length)];
}

function nameOf(moment: number, isHour: boolean): string {
  return new Date(moment).toISOString().slice(0, isHour ? 'YYYY-MM-DDTHH'.length : 'YYYY-MM-DDTHH:MM'.length);
}

function floored(moment: number, length: number): number {
  return Math.floor(moment / length) * length;
}
