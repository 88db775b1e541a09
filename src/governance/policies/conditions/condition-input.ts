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
import { type Day, DAYS } from './clock';
import { CONDITION_OPERATORS, IDENTITY_OPERATORS, PARAMETER_OPERATORS, type PolicyCondition } from './condition';
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
} from './condition-faults';
import { PRINCIPAL_PARTS, RESOURCE_PARTS } from './operand';
import { findTimeZone } from '../../../core/values/time-zone';

const MAX_EXCEPTIONS = 400;
const EQUALITY = ['eq', 'ne'];
const ORDER = ['lt', 'lte', 'gt', 'gte'];
const DAY_LIST = { minItems: 1, maxItems: 7, item: { max: 3, rule: (day: string) => oneOfFault(day, DAYS) } };

const POINTER = textShape({ max: 500, rule: pointerFault });
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
const DATE_LIST = { maxItems: MAX_EXCEPTIONS, item: { max: 10, rule: dateFault } };
const EXCEPT: Shape = {
  rule: textsShape(DATE_LIST).rule,
  schema: {
    type: 'array',
    items: { type: 'string', format: 'date' },
    maxItems: MAX_EXCEPTIONS,
    nullable: true,
    description: 'With `clock`: dates of the zone on which no span begins.',
  },
};

const ON_CLOCK = objectShape({
  clock: CLOCK,
  days: { ...DAY_NAMES, optional: true },
  except: { ...EXCEPT, optional: true },
  op: operator(['between']),
  value: anyJson(spanFault),
});

const EARLIER = textShape({ max: 100, rule: actionPatternFault });
const SAME_RESOURCE = choiceShape(['same']);
const WITHIN = textShape({ max: 100, rule: lookBackFault });
const ON_EARLIER = objectShape({
  earlier: EARLIER,
  within: { ...WITHIN, optional: true },
  resource: { ...SAME_RESOURCE, optional: true },
  op: operator(['exists']),
  value: anyJson((value) => operandFault('exists', value)),
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

const ON_PRINCIPAL = objectShape(
  {
    principal: choiceShape(PRINCIPAL_PARTS, {}),
    op: operator(IDENTITY_OPERATORS),
    value: anyJson(() => undefined),
  },
  identityFaults,
);
const ON_RESOURCE = objectShape(
  { resource: choiceShape(RESOURCE_PARTS, {}), op: operator(IDENTITY_OPERATORS), value: anyJson(() => undefined) },
  identityFaults,
);

/** The conditions of a policy: on a request, its time, and what its agent did before. */
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
        // The schema of responses describes the parts.
        principal: { $ref: '#/components/schemas/PrincipalPart' },
        clock: CLOCK.schema,
        days: DAY_NAMES.schema,
        except: EXCEPT.schema,
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
          type: 'string',
          enum: ['same', ...RESOURCE_PARTS, null],
          nullable: true,
          description:
            'With `earlier`, `same`: on the same resource; default: on any. Instead of a parameter, `last`: the last segment of ' +
            'the `resourceId`.',
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

function conditionFault(input: unknown): ReturnType<MemberRule> {
  return (isObject(input) ? shapeFor(input) : ON_PARAMETER).rule(input);
}

function shapeFor(input: Members): Shape {
  if ('clock' in input) return ON_CLOCK;
  if ('claim' in input) return ON_CLAIMS;
  if ('earlier' in input) return ON_EARLIER;
  if ('parameter' in input) return ON_PARAMETER;
  if ('principal' in input) return ON_PRINCIPAL;
  return 'resource' in input ? ON_RESOURCE : ON_PARAMETER;
}

function operator(operators: readonly string[]): Shape {
  return { rule: (op) => oneOfFault(op, operators), schema: {} };
}

function anyJson(rule: MemberRule): Shape {
  return { rule, schema: ANY_JSON_SCHEMA };
}

export function zoneFault(zone: string): string | undefined {
  return findTimeZone(zone) !== null ? undefined : 'must be the name of an IANA time zone, such as "Europe/Berlin"';
}

/** Returns the faults of an operator's operand. */
function operandFaults({ parameter, op, value }: Members): FaultInside[] {
  if (!PARAMETER_OPERATORS.some((allowedOp) => allowedOp === op)) return [];
  const isEach = op === 'exists' && hasEach(parameter);
  return [
    ...(isEach ? [{ at: '.parameter', message: 'must not have a "*" with exists' }] : []),
    ...faultsAt('.value', (operand) => valueFault(String(op), operand), value),
  ];
}

/** Faults of the value that the principal or the resource is compared with. */
function identityFaults({ op, value }: Members): readonly FaultInside[] {
  if (!IDENTITY_OPERATORS.some((allowedOp) => allowedOp === op)) return [];
  const faults = faultsAt('.value', (operand) => valueFault(String(op), operand), value);
  const composed = composedFault(value);
  return faults.length > 0 || composed === undefined ? faults : [{ at: '.value', message: composed }];
}

function valueFault(op: string, value: unknown): ReturnType<MemberRule> {
  if (op === 'domain') return domainFaults(value);
  if (ORDER.includes(op) && isObject(value)) return PARAMETER_REFERENCE.rule(value);
  if (EQUALITY.includes(op) && isObject(value)) return referenceShape(value).rule(value);
  return operandFault(op, value);
}

/** The value of a comparison with another part of the request. */
const PARAMETER_REFERENCE = objectShape({ parameter: POINTER }, ({ parameter }) =>
  hasEach(parameter) ? [{ at: '.parameter', message: 'must not have a "*"' }] : [],
);
const PRINCIPAL_REFERENCE = objectShape({ principal: choiceShape(PRINCIPAL_PARTS, {}) });
const RESOURCE_REFERENCE = objectShape({ resource: choiceShape(RESOURCE_PARTS, {}) });

function referenceShape(value: Members): Shape {
  if ('principal' in value) return PRINCIPAL_REFERENCE;
  return 'resource' in value ? RESOURCE_REFERENCE : PARAMETER_REFERENCE;
}

/** Leaves out members that are null, except the value, and an empty list of exceptions. */
export function filledConditions(conditions: readonly PolicyCondition[]): PolicyCondition[] {
  return conditions.map((condition) => {
    const members = Object.entries(condition).filter(
      ([name, member]) => name === 'value' || (member !== null && !isEmptyExcept(name, member)),
    );
    return Object.fromEntries(members) as unknown as PolicyCondition;
  });
}

function isEmptyExcept(name: string, member: unknown): boolean {
  return name === 'except' && Array.isArray(member) && member.length === 0;
}

export class ConditionResponse {
  @ApiMember('A JSON Pointer (RFC 6901) into the parameters.', { required: false, example: '/amount' })
  readonly parameter?: string;

  @ApiMember(
    'Instead of a parameter: the id or the type of the principal. Of a registered person, the type is `agent`.',
    {
      required: false,
      enum: PRINCIPAL_PARTS,
      enumName: 'PrincipalPart',
      example: 'id',
    },
  )
  readonly principal?: 'id' | 'type';

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

  @ApiMember('Goes with `clock`: dates of the zone on which no span begins.', {
    required: false,
    isArray: true,
    nullable: true,
    type: String,
    format: 'date',
    example: ['2026-12-25'],
  })
  readonly except?: readonly string[] | null;

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

  @ApiMember('With `earlier`: `same`. Instead of a parameter: `last`, the last segment of the `resourceId`.', {
    required: false,
    type: String,
    enum: ['same', ...RESOURCE_PARTS, null],
    nullable: true,
    example: 'same',
  })
  readonly resource?: 'same' | 'last' | null;

  @ApiMember('A predicate of claims on the entity that the resource names.', { required: false, example: 'iban' })
  readonly claim?: string;

  @ApiProperty({ enum: CONDITION_OPERATORS, enumName: 'ConditionOperator', example: 'lte' })
  readonly op!: PolicyCondition['op'];

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 100 })
  readonly value!: PolicyCondition['value'];
}
