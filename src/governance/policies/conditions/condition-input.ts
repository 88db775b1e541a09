import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON_SCHEMA } from '../../../core/json/json-value';
import {
  choiceShape,
  faultsAt,
  isObject,
  listShape,
  member,
  type Members,
  objectShape,
  type Shape,
  textShape,
  type FaultInside,
  type MemberRule,
  oneOfFault,
  textsShape,
} from '../../../http/validation/shapes';
import { ApiMember } from '../../../http/openapi/response-members';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { parseDuration } from '../../../core/values/duration';
import { withinFault } from '../patterns/resources';
import { type Day, DAYS, isTimeOfDay } from './clock';
import { CONDITION_OPERATORS, EACH, PARAMETER_OPERATORS, type PolicyCondition, isScalar, pathOf } from './condition';
import { findTimeZone } from '../../../core/values/time-zone';

const MOST_VALUES = 100;
const COMPARING = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'];
const ESCAPE = /~(?![01])/;
const DAY_LIST = { minItems: 1, maxItems: 7, item: { max: 3, rule: (day: string) => oneOfFault(day, DAYS) } };

export const POINTER = textShape({ max: 500, rule: pointerFault });
const PARAMETER = member(POINTER, {
  description:
    'A JSON Pointer (RFC 6901) into the parameters of the request; a `*` as one of its tokens stands for each item of a list.',
});
const CLOCK: Shape = {
  rule: textShape({ max: 100, rule: zoneFault }).rule,
  schema: {
    type: 'string',
    minLength: 1,
    description: 'Instead of a parameter: an IANA time zone, with `between` and two times.',
  },
};
const DAY_NAMES: Shape = {
  rule: textsShape(DAY_LIST).rule,
  schema: {
    type: 'array',
    items: { $ref: '#/components/schemas/DayOfWeek' },
    minItems: 1,
    nullable: true,
    description: 'With `clock`: on these days. Default: every day.',
  },
};

const ON_CLOCK = objectShape({
  clock: CLOCK,
  days: { ...DAY_NAMES, optional: true },
  op: operator(['between']),
  value: anyJson(spanFault),
});

const EARLIER = textShape({ max: 100, rule: actionPatternFault });
const RESOURCE = choiceShape(['same']);
const LONGEST_WITHIN = 7 * 24 * 3_600_000;
const WITHIN = textShape({
  max: 100,
  rule: (text) =>
    parseDuration(text, LONGEST_WITHIN) === undefined
      ? 'must be an ISO 8601 duration between one second and 7 days, such as "PT4H" or "P7D"'
      : undefined,
});
const ON_EARLIER = objectShape({
  earlier: EARLIER,
  within: { ...WITHIN, optional: true },
  resource: { ...RESOURCE, optional: true },
  op: operator(['exists']),
  value: anyJson((value) => valueFault('exists', value)),
});

const CLAIM = textShape({ max: 255 });
const ON_CLAIMS = objectShape(
  { claim: CLAIM, op: operator(['supports']), parameter: PARAMETER, value: anyJson(confidenceFault) },
  ({ parameter }) => (hasEach(parameter) ? [{ at: '.parameter', message: 'must not have a "*" with claim' }] : []),
);

const ON_PARAMETER = objectShape(
  { parameter: PARAMETER, op: operator(PARAMETER_OPERATORS), value: anyJson(() => undefined) },
  operandFaults,
);

/** What a policy requires of a request, of its time, and of what its agent did before. */
export const CONDITIONS: Shape = {
  rule: listShape({ rule: conditionFault, schema: {} }, 0, 20, 'conditions').rule,
  schema: {
    type: 'array',
    maxItems: 20,
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['op', 'value'],
      properties: {
        parameter: PARAMETER.schema,
        clock: CLOCK.schema,
        days: DAY_NAMES.schema,
        earlier: {
          ...EARLIER.schema,
          description:
            'Instead of a parameter: an action, or a pattern of actions, that the agent was authorised to do before in the same run, with `exists`.',
        },
        within: {
          ...WITHIN.schema,
          nullable: true,
          description:
            'With `earlier`: an ISO 8601 duration up to `P7D`, in any run or none. Default: in the same run.',
        },
        resource: {
          ...RESOURCE.schema,
          nullable: true,
          description: 'With `earlier`: on the same resource. Default: on any.',
        },
        claim: {
          ...CLAIM.schema,
          description:
            'A predicate of claims on the entity that the resource names, with `supports`: those on the value at ' +
            '`parameter` have at least the confidence `value`, and no claim of another value has as much.',
        },
        // Refers to the answer's schema by name: clients get one type for it.
        op: { $ref: '#/components/schemas/ConditionOperator' },
        value: ANY_JSON_SCHEMA,
      },
    },
  },
};

function conditionFault(given: unknown): ReturnType<MemberRule> {
  if (isObject(given) && 'clock' in given) return ON_CLOCK.rule(given);
  if (isObject(given) && 'claim' in given) return ON_CLAIMS.rule(given);
  return (isObject(given) && 'earlier' in given ? ON_EARLIER : ON_PARAMETER).rule(given);
}

function operator(known: readonly string[]): Shape {
  return { rule: (op) => oneOfFault(op, known), schema: {} };
}

function anyJson(rule: MemberRule): Shape {
  return { rule, schema: ANY_JSON_SCHEMA };
}

function zoneFault(zone: string): string | undefined {
  return findTimeZone(zone) !== null ? undefined : 'must be the name of an IANA time zone, such as "Europe/Berlin"';
}

function confidenceFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  return typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'must be a number from 0 to 1';
}

function spanFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const [start, end, more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (!isTimeOfDay(start) || !isTimeOfDay(end) || more !== undefined)
    return 'must be two times from "00:00" to "24:00", as ["08:00", "17:30"]';
  // 24:00 is 00:00 of the next day.
  const isEmpty = start === end || (start === '24:00' && end === '00:00');
  return isEmpty ? 'must be two different times' : undefined;
}

/** What is wrong with the operand of an operator. */
function operandFaults({ parameter, op, value }: Members): FaultInside[] {
  if (!PARAMETER_OPERATORS.some((known) => known === op)) return [];
  const isEach = op === 'exists' && hasEach(parameter);
  return [
    ...(isEach ? [{ at: '.parameter', message: 'must not have a "*" with exists' }] : []),
    ...faultsAt('.value', (operand) => valueFault(String(op), operand), value),
  ];
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (pathOf(pointer).filter((token) => token === EACH).length > 1) return 'must have at most one "*"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

export function hasEach(pointer: unknown): boolean {
  return typeof pointer === 'string' && pathOf(pointer).includes(EACH);
}

function valueFault(op: string, value: unknown): ReturnType<MemberRule> {
  if (value === undefined) return 'is required';
  if (op === 'exists') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'must be a string';
  if (op === 'within') return typeof value === 'string' ? withinFault(value) : 'must be a string';
  if (op === 'in' || op === 'not_in')
    return Array.isArray(value) && value.length >= 1 && value.length <= MOST_VALUES && value.every(isScalar)
      ? undefined
      : `must be an array of 1 to ${MOST_VALUES} strings, numbers, booleans or nulls`;
  if (COMPARING.includes(op) && isObject(value)) return REFERENCE.rule(value);
  if (op !== 'eq' && op !== 'ne') return typeof value === 'number' ? undefined : 'must be a number, or {parameter}';
  return isScalar(value) ? undefined : 'must be a string, a number, a boolean or null, or {parameter}';
}

/** The value of a comparison with another parameter. */
const REFERENCE = objectShape({ parameter: POINTER }, ({ parameter }) =>
  hasEach(parameter) ? [{ at: '.parameter', message: 'must not have a "*"' }] : [],
);

/** Null counts as left out, except as the value. */
export function filledConditions(given: readonly PolicyCondition[]): PolicyCondition[] {
  return given.map((condition) => {
    const members = Object.entries(condition).filter(([name, member]) => name === 'value' || member !== null);
    return Object.fromEntries(members) as unknown as PolicyCondition;
  });
}

export class ConditionResponse {
  @ApiMember('A JSON Pointer (RFC 6901) into the parameters.', { required: false, example: '/amount' })
  readonly parameter?: string;

  @ApiMember('Instead of a parameter: a time zone.', { required: false, example: 'Europe/Berlin' })
  readonly clock?: string;

  @ApiMember('Goes with `clock`. Default: every day.', {
    required: false,
    enum: DAYS,
    enumName: 'DayOfWeek',
    isArray: true,
    nullable: true,
  })
  readonly days?: readonly Day[] | null;

  @ApiMember('Instead of a parameter: an action, or a pattern of actions, done before in the same run.', {
    required: false,
    example: 'look-up',
  })
  readonly earlier?: string;

  @ApiMember('With `earlier`: a duration, in any run or none, instead of the run.', {
    required: false,
    type: String,
    nullable: true,
    example: 'PT4H',
  })
  readonly within?: string | null;

  @ApiMember('With `earlier`: on the same resource.', {
    required: false,
    type: String,
    enum: ['same', null],
    nullable: true,
    example: 'same',
  })
  readonly resource?: 'same' | null;

  @ApiMember('A predicate of claims on the entity that the resource names.', { required: false, example: 'iban' })
  readonly claim?: string;

  @ApiProperty({ enum: CONDITION_OPERATORS, enumName: 'ConditionOperator', example: 'lte' })
  readonly op!: PolicyCondition['op'];

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 100 })
  readonly value!: PolicyCondition['value'];
}
