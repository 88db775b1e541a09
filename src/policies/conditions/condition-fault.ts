import type { FaultInside } from '../../http/validation/member-rule';
import { unknownMembers } from '../../http/validation/unknown-members';
import { oneOfFault, textFault } from '../../http/validation/value-rules';
import { CONDITION_OPERATORS } from './condition';

export const MOST_CONDITIONS = 20;
export const LONGEST_POINTER = 500;
export const MOST_VALUES = 100;

const MEMBERS = ['parameter', 'op', 'value'];
const NUMERIC = ['lt', 'lte', 'gt', 'gte'];
const ESCAPE = /~(?![01])/;

/** What is wrong with the `conditions` of a policy; undefined when nothing is. */
export function conditionsFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!Array.isArray(value) || value.length > MOST_CONDITIONS)
    return `must be an array of at most ${MOST_CONDITIONS} conditions`;
  return value.flatMap((condition: unknown, index) =>
    conditionFaults(condition).map(({ at, message }) => ({ at: `[${index}]${at}`, message })),
  );
}

function conditionFaults(given: unknown): FaultInside[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return [{ at: '', message: 'must be an object' }];
  const members = given as Readonly<Record<string, unknown>>;
  const { parameter, op, value } = members;
  const found = {
    '.parameter': textFault(parameter, { max: LONGEST_POINTER, rule: pointerFault }),
    '.op': oneOfFault(op, CONDITION_OPERATORS),
    '.value': typeof op === 'string' ? valueFault(op, value) : undefined,
  };
  return [
    ...unknownMembers(members, MEMBERS),
    ...Object.entries(found).flatMap(([at, message]) => (message === undefined ? [] : [{ at, message }])),
  ];
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

function valueFault(op: string, value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  if (op === 'exists') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'must be a string';
  if (NUMERIC.includes(op)) return typeof value === 'number' ? undefined : 'must be a number';
  if (op === 'in' || op === 'not_in')
    return Array.isArray(value) && value.length >= 1 && value.length <= MOST_VALUES && value.every(isScalar)
      ? undefined
      : `must be an array of 1 to ${MOST_VALUES} strings, numbers, booleans or nulls`;
  return isScalar(value) ? undefined : 'must be a string, a number, a boolean or null';
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
