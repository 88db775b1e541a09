import { readFileSync } from 'node:fs';
import { actionPatternFault } from '../service-rules/action-pattern.js';
import {
  composedFault,
  confidenceFault,
  dateFault,
  domainFaults,
  hasEach,
  lookBackFault,
  operandFault,
  pointerFault,
  spanFault,
} from '../service-rules/condition-faults.js';

/** A fault inside a condition: where, such as `.value`, and what is wrong. */
export interface ConditionFault {
  readonly at: string;
  readonly message: string;
}

type Members = Readonly<Record<string, unknown>>;
type MemberFaults = Readonly<Record<string, string | undefined>>;

/** The build puts the names of the time zones of the release here, in lower case. */
const ZONES = new URL('../../../zones.json', import.meta.url);
let zoneNames: ReadonlySet<string> | undefined;

const EQUALITY = ['eq', 'ne'];
const COMPARING = [...EQUALITY, 'lt', 'lte', 'gt', 'gte'];
/** The operators for the principal and the resource. */
const IDENTITY_OPERATORS = [...EQUALITY, 'in', 'not_in', 'domain', 'exists'];
/** Maps each member that a condition may ask about to the members that go with it. */
const QUESTIONS = {
  clock: ['days', 'except'],
  claim: ['parameter'],
  earlier: ['within', 'resource'],
  parameter: [],
  principal: [],
  resource: [],
} as const;
const MEMBERS = ['parameter', 'principal', 'clock', 'days', 'except', 'earlier', 'within', 'resource'];

/** Returns the faults of a condition that the service refuses, and the schema does not. */
export function conditionFaults(condition: Members): ConditionFault[] {
  const { op, value } = condition;
  if (typeof op !== 'string' || value === undefined) return [];
  return Object.entries(faultsOf(condition, op)).flatMap(([member, message]) =>
    message === undefined ? [] : { at: `.${member}`, message },
  );
}

function faultsOf(condition: Members, op: string): MemberFaults {
  const { parameter, clock, except, earlier, within, resource, value } = condition;
  if ('clock' in condition)
    return {
      ...unknownMembers(condition, 'clock'),
      ...exceptFaults(except),
      clock: isZone(clock) ? undefined : 'must be the name of an IANA time zone, such as "Europe/Berlin"',
      op: onlyOperator(op, 'between'),
      value: spanFault(value),
    };
  if ('claim' in condition)
    return {
      ...unknownMembers(condition, 'claim'),
      parameter: parameterFault(parameter, 'claim'),
      op: onlyOperator(op, 'supports'),
      value: confidenceFault(value),
    };
  if ('earlier' in condition)
    return {
      ...unknownMembers(condition, 'earlier'),
      earlier: typeof earlier === 'string' ? actionPatternFault(earlier) : undefined,
      within: typeof within === 'string' ? lookBackFault(within) : undefined,
      resource: resource === 'last' ? 'must be same, or be left out, with earlier' : undefined,
      op: onlyOperator(op, 'exists'),
      value: operandFault('exists', value),
    };
  if ('principal' in condition && !('parameter' in condition)) return identityFaults(condition, op, 'principal');
  if (resource === 'last' && !('parameter' in condition)) return identityFaults(condition, op, 'resource');
  return parameterFaults(condition, op);
}

function exceptFaults(except: unknown): MemberFaults {
  const dates: readonly unknown[] = Array.isArray(except) ? except : [];
  return Object.fromEntries(
    dates.map((date, index) => {
      const isRepeated = dates.indexOf(date) < index;
      return [`except[${index}]`, dateFault(date) ?? (isRepeated ? 'must differ from the items before it' : undefined)];
    }),
  );
}

/** Returns the faults of members that cannot stand next to the question. */
function unknownMembers(condition: Members, question: keyof typeof QUESTIONS): MemberFaults {
  const allowed: readonly string[] = [question, ...QUESTIONS[question]];
  const others = MEMBERS.filter((name) => condition[name] !== undefined && !allowed.includes(name));
  return Object.fromEntries(others.map((name) => [name, `is not known next to ${question}`]));
}

function onlyOperator(op: string, only: string): string | undefined {
  return op === only ? undefined : `must be one of ${only}`;
}

export function isZone(zone: unknown): boolean {
  zoneNames ??= new Set(JSON.parse(readFileSync(ZONES, 'utf8')) as string[]);
  return typeof zone === 'string' && zoneNames.has(zone.toLowerCase());
}

function parameterFaults(condition: Members, op: string): MemberFaults {
  return {
    ...unknownMembers(condition, 'parameter'),
    parameter: parameterFault(condition['parameter'], op === 'exists' ? op : null),
    op: op === 'between' ? 'needs clock instead of parameter' : op === 'supports' ? 'needs claim' : undefined,
    ...valueFaults(op, condition['value']),
  };
}

function identityFaults(condition: Members, op: string, question: 'principal' | 'resource'): MemberFaults {
  const isKnown = IDENTITY_OPERATORS.includes(op);
  const { value } = condition;
  const composed = composedFault(value);
  return {
    ...unknownMembers(condition, question),
    op: isKnown ? undefined : `must be one of ${IDENTITY_OPERATORS.join(', ')}`,
    ...(composed === undefined ? valueFaults(op, value) : { value: composed }),
  };
}

/** Faults of a value, or of the part of the request that stands for it. */
function valueFaults(op: string, value: unknown): MemberFaults {
  if (['between', 'supports'].includes(op)) return {};
  if (op === 'domain') return Object.fromEntries(domainFaults(value).map(({ at, message }) => [`value${at}`, message]));
  if (!isReference(value) || !COMPARING.includes(op)) return { value: operandFault(op, value) };
  if (EQUALITY.includes(op) && 'principal' in value) return partFaults(value, 'principal', ['id', 'type']);
  if (EQUALITY.includes(op) && 'resource' in value) return partFaults(value, 'resource', ['last']);
  return { 'value.parameter': referenceFault(value) };
}

function partFaults(value: Members, part: string, parts: readonly string[]): MemberFaults {
  const more = Object.keys(value).find((name) => name !== part);
  const isKnown = parts.some((name) => name === value[part]);
  return {
    ...(more !== undefined && { [`value.${more}`]: `is not known next to ${part}` }),
    [`value.${part}`]: isKnown ? undefined : `must be one of ${parts.join(', ')}`,
  };
}

/** @param single the member or operator that takes a single value, so that the pointer must not have a "*" */
function parameterFault(pointer: unknown, single: string | null): string | undefined {
  if (pointer === undefined) return 'is required';
  if (typeof pointer !== 'string') return undefined;
  return (
    pointerFault(pointer) ?? (single !== null && hasEach(pointer) ? `must not have a "*" with ${single}` : undefined)
  );
}

function isReference(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function referenceFault({ parameter, ...otherMembers }: Members): string | undefined {
  const [more] = Object.keys(otherMembers);
  if (more !== undefined) return `must stand alone, without ${more}`;
  return parameterFault(parameter, null) ?? (hasEach(parameter) ? 'must not have a "*"' : undefined);
}
