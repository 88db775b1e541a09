import {
  type Decimal,
  compareDecimals,
  decimalOf,
  decimalText,
  isPercentOf,
  sumOf,
} from '../../../core/values/decimal';
import type { PolicyReference } from '../../../core/errors/domain-error';
import type { JsonObject } from '../../../core/json/json-value';
import type { SumKey } from '../../../ledger/records/sum-key';
import { type ConditionRequest, pathOf, valueAt } from '../conditions/condition';

/** How long what was used counts against a limit. */
export type LimitPeriod = 'hour' | 'day' | 'week' | 'month';
export const LIMIT_PERIODS: readonly LimitPeriod[] = ['hour', 'day', 'week', 'month'];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Milliseconds of what is always as long. */
export const LENGTHS = { hour: HOUR, day: DAY, week: 7 * DAY } as const;
/** The first Monday after the epoch, which was a Thursday. */
const FIRST_MONDAY = 4 * DAY;

/** The beginning of the hour or day in UTC, or of the week from Monday on, that contains a time. Milliseconds since 1970. */
export function startOf(per: keyof typeof LENGTHS, time: number): number {
  const [length, first] = [LENGTHS[per], per === 'week' ? FIRST_MONDAY : 0];
  return first + Math.floor((time - first) / length) * length;
}

/**
 * The window in which a time lies, up to, but not including, its end: ISO 8601 in UTC with milliseconds. Weeks begin on Monday.
 */
export function windowAt(per: LimitPeriod, at: string): Readonly<Record<'start' | 'end', string>> {
  const time = Date.parse(at);
  if (per === 'month') {
    const date = new Date(time);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { start: isoOf(Date.UTC(year, month)), end: isoOf(Date.UTC(year, month + 1)) };
  }
  const start = startOf(per, time);
  return { start: isoOf(start), end: isoOf(start + LENGTHS[per]) };
}

/** The window of each period in which a time lies. */
export type LimitWindows = Readonly<Record<LimitPeriod, Readonly<Record<'start' | 'end', string>>>>;

export function windowsAt(at: string): LimitWindows {
  return {
    hour: windowAt('hour', at),
    day: windowAt('day', at),
    week: windowAt('week', at),
    month: windowAt('month', at),
  };
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}

/** Whose uses count together. */
export type LimitScope = 'agent' | 'policy';
export const LIMIT_SCOPES: readonly LimitScope[] = ['agent', 'policy'];

/** How much a policy allows by itself. */
export interface PolicyLimit {
  readonly max: number;
  /** A JSON Pointer to the amount among the parameters; without it each execution counts 1. */
  readonly of?: string;
  readonly per: LimitPeriod;
  readonly by: LimitScope;
}

/** What a request would take from a limit. */
export interface RequestedUse {
  readonly policy: PolicyReference;
  /** The index of the limit. */
  readonly limit: number;
  readonly max: Decimal;
  readonly sum: SumKey;
  readonly resetsAt: string;
  /** Null where the request names none. */
  readonly amount: Decimal | null;
}

/** What a request would use of a limit, with what was used before it. */
export interface LimitUse extends RequestedUse {
  readonly before: Decimal;
}

/** Percent of a limit. */
const WARNED_AT = 80;

const ONE: Decimal = { digits: 1n, scale: 0 };
const NOTHING: Decimal = { digits: -1n, scale: 0 };

/** Sums belong to the name of a policy, so that a new version goes on counting. */
export function sumOfLimit(name: string, { of, per, by }: Pick<PolicyLimit, 'of' | 'per' | 'by'>): string {
  return JSON.stringify(['limit', name, of ?? null, per, by]);
}

/**
 * A limit that would no longer be accepted lets nothing through.
 * @param windows by {@link windowsAt} for the time of the request, so that many policies share them
 */
export function askedUses(
  policy: PolicyReference,
  limits: readonly PolicyLimit[],
  { subject, parameters }: Pick<ConditionRequest, 'subject' | 'parameters'>,
  windows: LimitWindows,
): RequestedUse[] {
  const agentId = 'agentId' in subject ? subject.agentId : '';
  return limits.map((given, limit) => {
    const { max, of, per, by } = given;
    const { start, end } = windows[per];
    const amount = of === undefined ? ONE : decimalOf(valueAt(pathOf(of), parameters));
    const sum = { sum: sumOfLimit(policy.name, given), window: start, key: by === 'agent' ? agentId : '' };
    return { policy, limit, max: decimalOf(max) ?? NOTHING, amount, resetsAt: end, sum };
  });
}

/** What is used once a request has taken its amount. */
export function usedAfter({ before, amount }: Pick<LimitUse, 'before' | 'amount'>): Decimal {
  return amount === null ? before : sumOf(before, amount);
}

/** Whether the amount still fits; one that is not there never does. */
export function fits(use: Pick<LimitUse, 'before' | 'amount' | 'max'>): boolean {
  return use.amount !== null && compareDecimals(usedAfter(use), use.max) <= 0;
}

/** Whether this use takes the sum to 80 % of the maximum, or beyond. */
export function isWarnedOf(use: LimitUse): boolean {
  return !isPercentOf(use.before, WARNED_AT, use.max) && isPercentOf(usedAfter(use), WARNED_AT, use.max);
}

/** A use as entries say it. */
export interface RecordedUse extends JsonObject {
  readonly policyId: string;
  readonly limit: number;
  /** Its start. */
  readonly window: string;
  /** The agent; null if the limit counts all agents together. */
  readonly key: string | null;
  readonly before: string;
  /** Null where the request named none. */
  readonly amount: string | null;
}

export function recordedUse({ policy, limit, sum: { window, key }, before, amount }: LimitUse): RecordedUse {
  return {
    policyId: policy.id,
    limit,
    window,
    key: key === '' ? null : key,
    before: decimalText(before),
    amount: amount === null ? null : decimalText(amount),
  };
}
