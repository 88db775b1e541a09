import { readFileSync } from 'node:fs';

/** A fault inside a condition: where, such as `.value`, and what is wrong. */
export interface ConditionFault {
  readonly at: string;
  readonly message: string;
}

type Members = Readonly<Record<string, unknown>>;

/** The build puts the names of the time zones of the release here, in lower case. */
const ZONES = new URL('../../../zones.json', import.meta.url);
let zoneNames: ReadonlySet<string> | undefined;

const SCALARS = ['string', 'number', 'boolean'];
const MOST_VALUES = 100;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/;

/** What the service refuses in a condition besides what the schema does; whether a path of `within` is one, it alone knows. */
export function conditionFaults(condition: Members): ConditionFault[] {
  const { op, value } = condition;
  if (typeof op !== 'string' || value === undefined) return [];
  const faults = faultsOf(condition);
  return Object.entries(faults).flatMap(([member, message]) => (message === null ? [] : { at: `.${member}`, message }));
}

function faultsOf(condition: Members): Readonly<Record<string, string | null>> {
  if ('clock' in condition) return clockFaults(condition);
  if ('claim' in condition) return claimFaults(condition);
  return 'earlier' in condition ? earlierFaults(condition) : parameterFaults(condition);
}

function claimFaults({
  parameter,
  clock,
  days,
  earlier,
  within,
  resource,
  op,
  value,
}: Members): Readonly<Record<string, string | null>> {
  const unknown = (given: unknown): string | null => (given === undefined ? null : 'is not known next to claim');
  const hasEach = tokensOf(parameter).includes('*');
  return {
    clock: unknown(clock),
    days: unknown(days),
    earlier: unknown(earlier),
    within: unknown(within),
    resource: unknown(resource),
    parameter: pointerFault(parameter) ?? (hasEach ? 'must not have a "*" with claim' : null),
    op: op === 'supports' ? null : 'must be one of supports',
    value: typeof value === 'number' && value >= 0 && value <= 1 ? null : 'must be a number from 0 to 1',
  };
}

function clockFaults({
  clock,
  earlier,
  within,
  resource,
  parameter,
  op,
  value,
}: Members): Readonly<Record<string, string | null>> {
  const [start, end, more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const isSpan = [start, end].every((time) => typeof time === 'string' && TIME.test(time)) && more === undefined;
  const isEmpty = start === end || (start === '24:00' && end === '00:00');
  return {
    parameter: parameter === undefined ? null : 'is not known next to clock',
    earlier: earlier === undefined ? null : 'is not known next to clock',
    within: within === undefined ? null : 'is not known next to clock',
    resource: resource === undefined ? null : 'is not known next to clock',
    clock: isZone(clock) ? null : 'must be the name of an IANA time zone, such as "Europe/Berlin"',
    op: op === 'between' ? null : 'must be one of between',
    value: isSpan
      ? isEmpty
        ? 'must be two different times'
        : null
      : 'must be two times from "00:00" to "24:00", as ["08:00", "17:30"]',
  };
}

function earlierFaults({
  parameter,
  days,
  earlier,
  within,
  op,
  value,
}: Members): Readonly<Record<string, string | null>> {
  const isPattern = typeof earlier !== 'string' || (earlier.trim() !== '' && !earlier.slice(0, -1).includes('*'));
  return {
    parameter: parameter === undefined ? null : 'is not known next to earlier',
    days: days === undefined ? null : 'is not known next to earlier',
    earlier: isPattern ? null : 'must be an action, with "*" only at its end',
    within: isWithin(within)
      ? null
      : 'must be an ISO 8601 duration between one second and 7 days, such as "PT4H" or "P7D"',
    op: op === 'exists' ? null : 'must be one of exists',
    value: typeof value === 'boolean' ? null : 'must be true or false',
  };
}

const MAX_WITHIN_SECONDS = 7 * 86_400;
const DURATION = /^P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

function isWithin(within: unknown): boolean {
  if (typeof within !== 'string') return true;
  if (within === 'P1W') return true;
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = DURATION.exec(within) ?? [];
  const sum = Number(days) * 86_400 + Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return sum >= 1 && sum <= MAX_WITHIN_SECONDS;
}

function isZone(zone: unknown): boolean {
  zoneNames ??= new Set(JSON.parse(readFileSync(ZONES, 'utf8')) as string[]);
  return typeof zone === 'string' && zoneNames.has(zone.toLowerCase());
}

function parameterFaults({
  parameter,
  days,
  within,
  resource,
  op,
  value,
}: Members): Readonly<Record<string, string | null>> {
  const hasEach = op === 'exists' && tokensOf(parameter).includes('*');
  return {
    parameter: pointerFault(parameter) ?? (hasEach ? 'must not have a "*" with exists' : null),
    days: days === undefined ? null : 'is not known without clock',
    within: within === undefined ? null : 'is not known without earlier',
    resource: resource === undefined ? null : 'is not known without earlier',
    op: op === 'between' ? 'needs clock instead of parameter' : op === 'supports' ? 'needs claim' : null,
    ...(isReference(value) && COMPARING.includes(String(op))
      ? { 'value.parameter': referenceFault(value) }
      : { value: valueFault(String(op), value) }),
  };
}

const COMPARING = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'];

function pointerFault(pointer: unknown): string | null {
  if (pointer === undefined) return 'is required';
  if (typeof pointer !== 'string') return null;
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (tokensOf(pointer).filter((token) => token === '*').length > 1) return 'must have at most one "*"';
  return /~(?![01])/.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : null;
}

function tokensOf(pointer: unknown): string[] {
  return typeof pointer === 'string' ? pointer.split('/').slice(1) : [];
}

function isReference(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function referenceFault({ parameter, ...others }: Members): string | null {
  const [more] = Object.keys(others);
  if (more !== undefined) return `must stand alone, without ${more}`;
  return pointerFault(parameter) ?? (tokensOf(parameter).includes('*') ? 'must not have a "*"' : null);
}

function valueFault(op: string, value: unknown): string | null {
  const isScalar = (one: unknown): boolean => one === null || SCALARS.includes(typeof one);
  switch (op) {
    case 'exists':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'prefix':
      return typeof value === 'string' ? null : 'must be a string';
    case 'within':
      if (typeof value !== 'string') return 'must be a string';
      return value.includes('*') ? 'must be a path or URL without "*"' : null;
    case 'in':
    case 'not_in':
      return Array.isArray(value) && value.length >= 1 && value.length <= MOST_VALUES && value.every(isScalar)
        ? null
        : `must be an array of 1 to ${MOST_VALUES} strings, numbers, booleans or nulls`;
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return typeof value === 'number' ? null : 'must be a number, or {parameter}';
    case 'eq':
    case 'ne':
      return isScalar(value) ? null : 'must be a string, a number, a boolean or null, or {parameter}';
    default:
      return null;
  }
}
