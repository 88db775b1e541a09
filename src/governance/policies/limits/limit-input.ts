import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember } from '../../../http/openapi/response-members';
import { decimalOf } from '../../../core/values/decimal';
import {
  listShape,
  member,
  objectShape,
  type Shape,
  textShape,
  type MemberRule,
  oneOfFault,
} from '../../../http/validation/shapes';
import { amountPointerFault } from '../conditions/condition-faults';
import { zoneFault } from '../conditions/condition-input';
import { type LimitScope, type PolicyLimit, LIMIT_SCOPES, sumOfLimit } from './limit';
import { type LimitPeriod, LIMIT_PERIODS } from './limit-window';

/** A limit as a client sends it; null counts as left out. */
export type LimitInput = Omit<PolicyLimit, 'of' | 'zone'> & {
  readonly of?: string | null;
  readonly zone?: string | null;
};

const MAX_LIMITS = 5;

const MAX: Shape = { rule: maxFault, schema: { type: 'number', minimum: 0 } };
const OF = textShape({ max: 500, rule: amountPointerFault });

const ZONE = textShape({ max: 100, rule: zoneFault });

const LIMIT_MEMBERS = {
  max: member(MAX, { description: 'From 0, with at most 15 digits and no exponent.', example: 1_000 }),
  of: member(OF, {
    optional: true,
    description: 'A JSON Pointer to the amount among the parameters. Default: each execution counts 1.',
    example: '/amount',
  }),
  per: choice('LimitPeriod', LIMIT_PERIODS),
  zone: member(ZONE, {
    optional: true,
    description: 'An IANA time zone, in which days, weeks and months begin. Default: UTC.',
    example: 'Europe/Berlin',
  }),
  by: choice('LimitScope', LIMIT_SCOPES),
};
const LIMIT = objectShape(LIMIT_MEMBERS, ({ of, per, zone, by }) => [
  ...(isPresent(zone) && per === 'hour' ? [{ at: '.zone', message: 'is not allowed per hour' }] : []),
  ...(isPresent(of) && by === 'request' ? [{ at: '.of', message: 'is not allowed by request: each counts 1' }] : []),
]);

const LIST = listShape(LIMIT, 0, MAX_LIMITS, 'limits');

/** The limits of a policy. */
export const LIMITS: Shape = {
  rule: (value) => {
    const faults = LIST.rule(value);
    return faults !== undefined && faults.length > 0 ? faults : equalLimits(value as readonly LimitInput[]);
  },
  schema: LIST.schema,
};

/** Returns limits as policies store them: members that are null, and the zone UTC, are left out. */
export function filledLimits(input: readonly LimitInput[]): PolicyLimit[] {
  return input.map(({ max, of, per, zone, by }) => ({
    max,
    per,
    by,
    ...(typeof of === 'string' && { of }),
    ...(typeof zone === 'string' && zone.toUpperCase() !== 'UTC' && { zone }),
  }));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function maxFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  return decimalOf(value) === null ? 'must be a number from 0 with at most 15 digits and no exponent' : undefined;
}

/** A choice with the name that responses use, so that clients get one type. */
function choice(name: string, choices: readonly string[]): Shape {
  return {
    rule: (value) => oneOfFault(value, choices),
    schema: { $ref: `#/components/schemas/${name}` } as Shape['schema'],
  };
}

/** Returns faults of limits that count the same, which would be one sum with two maxima. */
function equalLimits(input: readonly LimitInput[]): ReturnType<MemberRule> {
  const counted = filledLimits(input).map((limit) => sumOfLimit('', limit));
  return counted.flatMap((sum, index) => {
    const first = counted.indexOf(sum);
    const message = `must not have the same of, per, zone and by as limits[${first}]`;
    return first === index ? [] : [{ at: `[${index}]`, message }];
  });
}

export class PolicyLimitResponse {
  @ApiProperty({ example: 1000 })
  readonly max!: number;

  @ApiMember('A JSON Pointer to the amount among the parameters. Default: each execution counts 1.', {
    required: false,
    example: '/amount',
  })
  readonly of?: string;

  @ApiProperty({ enum: LIMIT_PERIODS, enumName: 'LimitPeriod', example: 'day' })
  readonly per!: LimitPeriod;

  @ApiMember('A time zone, in which days, weeks and months begin. Default: UTC.', {
    required: false,
    example: 'Europe/Berlin',
  })
  readonly zone?: string;

  @ApiChoice(
    ['LimitScope', LIMIT_SCOPES],
    'agent',
    'Whether it counts for each agent, for all together, or for equal requests of an agent.',
  )
  readonly by!: LimitScope;
}
