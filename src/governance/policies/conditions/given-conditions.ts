import {
  type FaultInside,
  oneOfFault,
  textFault,
  textListFault,
  unknownMembers,
} from '../../../http/validation/value-rules';
import { withinFault } from '../patterns/resources';
import { DAYS, isEmptySpan, isTimeOfDay, isTimeZone } from './clock';
import { EACH, isScalar, PARAMETER_OPERATORS, pathOf } from './condition';

export const MOST_CONDITIONS = 20;
export const LONGEST_POINTER = 500;
export const MOST_VALUES = 100;

const COMPARING = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'];
const ESCAPE = /~(?![01])/;

type Members = Readonly<Record<string, unknown>>;
/** The fault of each member; undefined where there is none. */
type MemberFaults = Readonly<Record<string, string | readonly FaultInside[] | undefined>>;

/** What is wrong with the `conditions` of a policy; undefined when nothing is. */
export function conditionsFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!Array.isArray(value) || value.length > MOST_CONDITIONS)
    return `must be an array of at most ${MOST_CONDITIONS} conditions`;
  return value.flatMap((condition: unknown, index) =>
    conditionFaults(condition).map(({ at, message }) => ({ at: `[${index}]${at}`, message })),
  );
}

function conditionFaults(given: unknown): FaultInside[] {
  if (!isObject(given)) return [{ at: '', message: 'must be an object' }];
  const isClock = 'clock' in given;
  const members = isClock ? ['clock', 'days', 'op', 'value'] : ['parameter', 'op', 'value'];
  const found = isClock ? clockFaults(given) : parameterFaults(given);
  return [
    ...unknownMembers(given, members),
    ...Object.entries(found).flatMap(([member, fault = []]) =>
      typeof fault === 'string'
        ? [{ at: `.${member}`, message: fault }]
        : fault.map(({ at, message }) => ({ at: `.${member}${at}`, message })),
    ),
  ];
}

function clockFaults({ clock, days, op, value }: Members): MemberFaults {
  return {
    clock: textFault(clock, { max: 100, rule: zoneFault }),
    days: days === undefined || days === null ? undefined : textListFault(days, DAY_LIST),
    op: oneOfFault(op, ['between']),
    value: spanFault(value),
  };
}

const DAY_LIST = { minItems: 1, maxItems: 7, item: { max: 3, rule: (day: string) => oneOfFault(day, DAYS) } };

function zoneFault(zone: string): string | undefined {
  return isTimeZone(zone) ? undefined : 'must be the name of an IANA time zone, such as "Europe/Berlin"';
}

function spanFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const [start, end, more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (!isTimeOfDay(start) || !isTimeOfDay(end) || more !== undefined)
    return 'must be two times from "00:00" to "24:00", as ["08:00", "17:30"]';
  return isEmptySpan([start, end]) ? 'must be two different times' : undefined;
}

function parameterFaults({ parameter, op, value }: Members): MemberFaults {
  const pointer = textFault(parameter, { max: LONGEST_POINTER, rule: pointerFault });
  return {
    parameter: pointer ?? (op === 'exists' && hasEach(parameter) ? 'must not have a "*" with exists' : undefined),
    op: oneOfFault(op, PARAMETER_OPERATORS),
    value: PARAMETER_OPERATORS.some((known) => known === op) ? valueFault(String(op), value) : undefined,
  };
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (pathOf(pointer).filter((token) => token === EACH).length > 1) return 'must have at most one "*"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

function hasEach(pointer: unknown): boolean {
  return typeof pointer === 'string' && pathOf(pointer).includes(EACH);
}

function valueFault(op: string, value: unknown): string | readonly FaultInside[] | undefined {
  if (value === undefined) return 'is required';
  if (op === 'exists') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'must be a string';
  if (op === 'within') return typeof value === 'string' ? withinFault(value) : 'must be a string';
  if (op === 'in' || op === 'not_in')
    return Array.isArray(value) && value.length >= 1 && value.length <= MOST_VALUES && value.every(isScalar)
      ? undefined
      : `must be an array of 1 to ${MOST_VALUES} strings, numbers, booleans or nulls`;
  if (COMPARING.includes(op) && isObject(value)) return referenceFaults(value);
  if (op !== 'eq' && op !== 'ne') return typeof value === 'number' ? undefined : 'must be a number, or {parameter}';
  return isScalar(value) ? undefined : 'must be a string, a number, a boolean or null, or {parameter}';
}

/** The value of a comparison with another parameter, which is one. */
function referenceFaults(value: Members): FaultInside[] {
  const { parameter } = value;
  const fault = textFault(parameter, { max: LONGEST_POINTER, rule: pointerFault });
  const message = fault ?? (hasEach(parameter) ? 'must not have a "*"' : undefined);
  return [...unknownMembers(value, ['parameter']), ...(message === undefined ? [] : [{ at: '.parameter', message }])];
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
