import { amountPointerFault } from '../service-rules/condition-faults.js';
import { type ConditionFault, isZone } from './condition-faults.js';

type Members = Readonly<Record<string, unknown>>;

const PLAIN = /^\d+(?:\.\d+)?$/;
const MAX_DIGITS = 15;

/** Returns the faults of limits that the service refuses, and the schema does not. */
export function limitFaults(effect: unknown, limits: readonly Members[]): ConditionFault[] {
  const sumKeys = limits.map(({ of, per, zone, by }) =>
    JSON.stringify([of ?? null, per, isUtc(zone) ? null : String(zone).toLowerCase(), by]),
  );
  return [
    ...(limits.length > 0 && effect !== 'allow' ? [{ at: '', message: 'is allowed with the effect allow only' }] : []),
    ...limits.flatMap(({ max, of, per, zone, by }, index) => [
      ...faultAt(`[${index}].zone`, zoneFault(zone, per)),
      ...faultAt(
        `[${index}].of`,
        by === 'request' && isPresent(of) ? 'is not allowed by request: each counts 1' : null,
      ),
      ...faultAt(`[${index}].max`, maxFault(max)),
      ...faultAt(`[${index}].of`, typeof of === 'string' ? (amountPointerFault(of) ?? null) : null),
      ...faultAt(`[${index}]`, equalFault(sumKeys, index)),
    ]),
  ];
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isUtc(zone: unknown): boolean {
  return !isPresent(zone) || String(zone).toUpperCase() === 'UTC';
}

function zoneFault(zone: unknown, per: unknown): string | null {
  if (!isPresent(zone)) return null;
  if (!isZone(zone)) return 'must be the name of an IANA time zone, such as "Europe/Berlin"';
  return per === 'hour' ? 'is not allowed per hour' : null;
}

function faultAt(pointer: string, message: string | null): ConditionFault[] {
  return message === null ? [] : [{ at: pointer, message }];
}

function maxFault(max: unknown): string | null {
  const text = String(max);
  const isAmount = typeof max === 'number' && PLAIN.test(text) && text.replace('.', '').length <= MAX_DIGITS;
  return isAmount ? null : 'must be a number from 0 with at most 15 digits and no exponent';
}

function equalFault(sumKeys: readonly string[], index: number): string | null {
  const first = sumKeys.indexOf(sumKeys[index] ?? '');
  return first === index ? null : `must not have the same of, per, zone and by as limits[${first}]`;
}
