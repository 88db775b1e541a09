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
import { hasEach, POINTER } from '../conditions/condition-input';
import { type LimitPeriod, type LimitScope, type PolicyLimit, LIMIT_PERIODS, LIMIT_SCOPES, sumOfLimit } from './limit';

/** A limit as a client sends it; null counts as left out. */
export type LimitInput = Omit<PolicyLimit, 'of'> & { readonly of?: string | null };

const MOST_LIMITS = 5;

const MAX: Shape = { rule: maxFault, schema: { type: 'number', minimum: 0 } };
const OF = textShape({ max: 500, rule: amountPointerFault });

const LIMIT = objectShape({
  max: member(MAX, { description: 'From 0, with at most 15 digits and no exponent.', example: 1_000 }),
  of: member(OF, {
    optional: true,
    description: 'A JSON Pointer to the amount among the parameters. Default: each execution counts 1.',
    example: '/amount',
  }),
  per: choice('LimitPeriod', LIMIT_PERIODS),
  by: choice('LimitScope', LIMIT_SCOPES),
});

const LIST = listShape(LIMIT, 0, MOST_LIMITS, 'limits');

/** How much a policy allows by itself. */
export const LIMITS: Shape = {
  rule: (value) => {
    const faults = LIST.rule(value);
    return faults !== undefined && faults.length > 0 ? faults : equalLimits(value as readonly LimitInput[]);
  },
  schema: LIST.schema,
};

/** What is not given is left out. */
export function filledLimits(given: readonly LimitInput[]): PolicyLimit[] {
  return given.map(({ max, of, per, by }) => ({ max, per, by, ...(typeof of === 'string' && { of }) }));
}

function maxFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  return decimalOf(value) === null ? 'must be a number from 0 with at most 15 digits and no exponent' : undefined;
}

function amountPointerFault(pointer: string): string | undefined {
  const fault = POINTER.rule(pointer);
  if (typeof fault === 'string') return fault;
  return hasEach(pointer) ? 'must not have a "*"' : undefined;
}

/** Named as the answers' types: clients get one type for it. */
function choice(name: string, known: readonly string[]): Shape {
  return {
    rule: (value) => oneOfFault(value, known),
    schema: { $ref: `#/components/schemas/${name}` } as Shape['schema'],
  };
}

/** Two limits that count the same would be one sum with two maxima. */
function equalLimits(given: readonly LimitInput[]): ReturnType<MemberRule> {
  const counted = filledLimits(given).map((limit) => sumOfLimit('', limit));
  return counted.flatMap((sum, index) => {
    const first = counted.indexOf(sum);
    const message = `must not have the same of, per and by as limits[${first}]`;
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

  @ApiChoice(['LimitScope', LIMIT_SCOPES], 'agent', 'Whether it counts for each agent, or for all together.')
  readonly by!: LimitScope;
}
