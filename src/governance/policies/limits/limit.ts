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

/** Whose uses count together. */
export type LimitScope = 'agent' | 'policy' | 'request';
export const LIMIT_SCOPES: readonly LimitScope[] = ['agent', 'policy', 'request'];

/** How much a policy allows by itself. */
export interface PolicyLimit {
  readonly max: number;
  /** A JSON Pointer to the amount among the parameters; without it each execution counts 1. */
  readonly of?: string;
  readonly per: LimitPeriod;
  /** The name of an IANA time zone, in which days, weeks and months begin. Left out: UTC. */
  readonly zone?: string;
  readonly by: LimitScope;
}

/** What a request would take from a limit. */
export interface RequestedUse {
  readonly policy: PolicyReference;
  /** The index of the limit. */
  readonly limit: number;
  readonly by: LimitScope;
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
export function sumOfLimit(name: string, { of, per, by, zone }: Omit<PolicyLimit, 'max'>): string {
  return JSON.stringify(['limit', name, of ?? null, per, by, ...(zone === undefined ? [] : [zone.toLowerCase()])]);
}

/** The parts of a request that limits count by. */
export interface CountedRequest extends Pick<ConditionRequest, 'subject' | 'parameters'> {
  /** Names the request among those of its agent; equal for equal requests. */
  readonly requestKey: () => string;
}

/**
 * A limit that would no longer be accepted lets nothing through.
 * @param windows by {@link windowsAt} for the time of the request, so that many policies share them
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

/** What is used once a request has taken its amount. */
export function usedAfter({ before, amount }: Pick<LimitUse, 'before' | 'amount'>): Decimal {
  return amount === null ? before : sumOf(before, amount);
}

/** Whether the amount still fits; one that is not there never does. */
export function fits(use: Pick<LimitUse, 'before' | 'amount' | 'max'>): boolean {
  return use.amount !== null && compareDecimals(usedAfter(use), use.max) <= 0;
}

/** Whether this use takes the sum to 80 % of the maximum, or beyond. Equal requests are not warned of: they are a loop. */
export function isWarnedOf(use: LimitUse): boolean {
  return (
    use.by !== 'request' &&
    !isPercentOf(use.before, WARNED_AT, use.max) &&
    isPercentOf(usedAfter(use), WARNED_AT, use.max)
  );
}

/** A use as entries say it. */
export interface RecordedUse extends JsonObject {
  readonly policyId: string;
  readonly limit: number;
  /** Its start. */
  readonly window: string;
  /** The agent, or the key of the request; null if the limit counts all agents together. */
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
