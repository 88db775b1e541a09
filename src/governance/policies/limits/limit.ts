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
import type { ConditionRequest } from '../conditions/condition';
import { pathOf } from '../conditions/condition-faults';
import { valueAt } from '../conditions/operand';
import { type LimitPeriod, NO_WINDOW, type WindowOfLimit } from './limit-window';

/** The requests whose uses count together. */
export type LimitScope = 'agent' | 'policy' | 'request';
export const LIMIT_SCOPES: readonly LimitScope[] = ['agent', 'policy', 'request'];

/** A limit of what a policy allows by itself. */
export interface PolicyLimit {
  readonly max: number;
  /** JSON Pointer to the amount among the parameters; without it each execution counts 1. */
  readonly of?: string;
  readonly per: LimitPeriod;
  /** IANA time zone in which days, weeks and months begin; UTC if left out. */
  readonly zone?: string;
  readonly by: LimitScope;
}

/** The use of a limit that a request would make. */
export interface RequestedUse {
  readonly policy: PolicyReference;
  /** Index of the limit in the policy. */
  readonly limit: number;
  readonly by: LimitScope;
  readonly max: Decimal;
  readonly sum: SumKey;
  readonly resetsAt: string;
  /** Amount; null if the request has none. */
  readonly amount: Decimal | null;
}

/** The use of a limit that a request would make, with the sum used before. */
export interface LimitUse extends RequestedUse {
  readonly before: Decimal;
}

/** Percentage of a limit at which a warning is recorded. */
const WARNED_AT = 80;

const ONE: Decimal = { digits: 1n, scale: 0 };
/** Maximum of a limit that lets nothing through: even the amount 0 exceeds it. */
const NOTHING: Decimal = { digits: -1n, scale: 0 };

/** Returns the name of a limit's sum, which belongs to the name of a policy, so that a new version continues it. */
export function sumOfLimit(name: string, { of, per, by, zone }: Omit<PolicyLimit, 'max'>): string {
  return JSON.stringify(['limit', name, of ?? null, per, by, ...(zone === undefined ? [] : [zone.toLowerCase()])]);
}

/** Parts of a request by which limits count. */
export interface CountedRequest extends Pick<ConditionRequest, 'subject' | 'parameters'> {
  /** Returns the same key for equal requests of an agent. */
  readonly requestKey: () => string;
}

/**
 * Returns the uses of limits that a request would make. A limit that would no longer be accepted lets nothing through.
 * @param windowOf result of {@link windowsAt} for the time of the request, so that many policies share it
 */
export function askedUses(
  policy: PolicyReference,
  limits: readonly PolicyLimit[],
  { subject, parameters, requestKey }: CountedRequest,
  windowOf: WindowOfLimit,
): RequestedUse[] {
  const agentId = 'agentId' in subject ? subject.agentId : '';
  const keys = { agent: () => agentId, policy: () => '', request: requestKey };
  return limits.map((definition, limit) => {
    const { max, of, by } = definition;
    const window = windowOf(definition);
    const amount = of === undefined ? ONE : decimalOf(valueAt(pathOf(of), parameters));
    const most = window === null ? null : decimalOf(max);
    const { start, end } = window ?? NO_WINDOW;
    const sum = { sum: sumOfLimit(policy.name, definition), window: start, key: keys[by]() };
    return { policy, limit, by, max: most ?? NOTHING, amount, resetsAt: end, sum };
  });
}

/** Returns the sum after a request has taken its amount. */
export function usedAfter({ before, amount }: Pick<LimitUse, 'before' | 'amount'>): Decimal {
  return amount === null ? before : sumOf(before, amount);
}

/** True if the amount still fits; a missing amount never does. */
export function fits(use: Pick<LimitUse, 'before' | 'amount' | 'max'>): boolean {
  return use.amount !== null && compareDecimals(usedAfter(use), use.max) <= 0;
}

/**
 * True if this use takes the sum to 80 % of the maximum, or beyond. There is no warning for equal requests, which are a
 * loop.
 */
export function isWarnedOf(use: LimitUse): boolean {
  return (
    use.by !== 'request' &&
    !isPercentOf(use.before, WARNED_AT, use.max) &&
    isPercentOf(usedAfter(use), WARNED_AT, use.max)
  );
}

/** A use as entries record it. */
export interface RecordedUse extends JsonObject {
  readonly policyId: string;
  readonly limit: number;
  /** Start of the window. */
  readonly window: string;
  /** Agent, or key of the request; null if the limit counts all agents together. */
  readonly key: string | null;
  readonly before: string;
  /** Amount; null if the request had none. */
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
