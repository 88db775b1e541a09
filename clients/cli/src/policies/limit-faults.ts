import type { ConditionFault } from './condition-faults.js';

type Members = Readonly<Record<string, unknown>>;

const PLAIN = /^\d+(?:\.\d+)?$/;
const MOST_DIGITS = 15;
const ESCAPE = /~(?![01])/;

/** What the service refuses in the limits of a policy besides what the schema does. */
export function limitFaults(effect: unknown, limits: readonly Members[]): ConditionFault[] {
  const counted = limits.map(({ of, per, by }) => JSON.stringify([of ?? null, per, by]));
  return [
    ...(limits.length > 0 && effect !== 'allow' ? [{ at: '', message: 'is allowed with the effect allow only' }] : []),
    ...limits.flatMap(({ max, of }, index) => [
      ...faultAt(`[${index}].max`, maxFault(max)),
      ...faultAt(`[${index}].of`, typeof of === 'string' ? pointerFault(of) : null),
      ...faultAt(`[${index}]`, equalFault(counted, index)),
    ]),
  ];
}

function faultAt(at: string, message: string | null): ConditionFault[] {
  return message === null ? [] : [{ at, message }];
}

function maxFault(max: unknown): string | null {
  const text = String(max);
  const isAmount = typeof max === 'number' && PLAIN.test(text) && text.replace('.', '').length <= MOST_DIGITS;
  return isAmount ? null : 'must be a number from 0 with at most 15 digits and no exponent';
}

function pointerFault(pointer: string): string | null {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (pointer.split('/').includes('*')) return 'must not have a "*"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : null;
}

function equalFault(counted: readonly string[], index: number): string | null {
  const first = counted.indexOf(counted[index] ?? '');
  return first === index ? null : `must not have the same of, per and by as limits[${first}]`;
}
