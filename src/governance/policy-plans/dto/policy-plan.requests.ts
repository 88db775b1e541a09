import { WholeRequest, type WholeRule } from '../../../http/validation/dto';
import {
  BooleanField,
  FreeFormObject,
  ListOf,
  OneOf,
  OptionalText,
  RequiredText,
  Field,
  TimestampField,
} from '../../../http/validation/fields';
import { parseTimestampOrDate } from '../../../http/validation/timestamp';
import { isObject, member, objectShape, type Shape } from '../../../http/validation/shapes';
import { NAMED_AGENT } from '../../agents/dto/agent.dto';
import { type PrincipalInput, OnBehalfOfField } from '../../permissions/principals';
import {
  type CheckInput,
  type GivenSubject,
  ACTION,
  RESOURCE_ID,
  RESOURCE_TYPE,
  whoFaults,
} from '../../permissions/evaluation/permission-checks';
import { SubjectField } from '../../permissions/evaluation/dto/evaluate.request';
import type { JsonObject } from '../../../core/json/json-value';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/evaluation';
import { SAMPLE_POLICY_SET } from '../../../http/openapi/documentation.decorators';
import { CreatePolicyRequest } from '../../policies/dto/policy.dto';

/** The period of a replay as sent in a request; null counts as left out. */
type GivenReplay = Readonly<Partial<Record<'from' | 'to', string | null>>>;

/** ISO 8601 in UTC with milliseconds, both included. */
export type ReplayPeriod = Readonly<Record<'from' | 'to', string | undefined>>;

const TIME: Shape = {
  rule: (value) =>
    typeof value === 'string' && timeOf(value) !== undefined
      ? undefined
      : 'must be an RFC 3339 time with a zone, or a date',
  schema: { type: 'string' },
};

const time = (description: string): ReturnType<typeof member> =>
  member(TIME, { optional: true, description, example: '2026-01-01' });

const REPLAY = objectShape(
  {
    from: time('Executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).'),
    to: time('Executions begun up to and including this time.'),
  },
  (given) => {
    const { from, to } = replayPeriod(given);
    const isOrdered = from === undefined || to === undefined || from <= to;
    return isOrdered ? [] : [{ at: '.from', message: 'must not be later than to' }];
  },
);

/** The times of a valid replay period. */
export function replayPeriod({ from, to }: GivenReplay): ReplayPeriod {
  return { from: timeOf(from), to: timeOf(to) };
}

/** Undefined for what is not a time, which is reported for its own field. */
function timeOf(given: unknown): string | undefined {
  return typeof given === 'string' ? parseTimestampOrDate(given) : undefined;
}

/** A question to the planned set, and the expected answer. */
@WholeRequest(whoFaults)
export class PolicyTestRequest implements CheckInput {
  @OptionalText({
    ...NAMED_AGENT,
    description: 'Id or name of a registered agent, whose capabilities and status count. Either this or `subject`.',
    example: 'reminder-bot',
  })
  readonly agent?: string;

  @SubjectField()
  readonly subject?: GivenSubject;

  @OnBehalfOfField('As in execute.')
  readonly onBehalfOf?: PrincipalInput;

  @RequiredText({ ...ACTION, description: 'As in execute.', example: 'send-reminder' })
  readonly action!: string;

  @RequiredText({ ...RESOURCE_TYPE, description: 'As in execute.', example: 'document' })
  readonly resourceType!: string;

  @RequiredText({ ...RESOURCE_ID, description: 'As in execute.', example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @FreeFormObject({
    optional: true,
    default: {},
    description: 'As in execute: what the conditions of policies examine.',
    example: { amount: 80 },
  })
  readonly parameters?: JsonObject;

  @TimestampField({
    optional: true,
    description: 'The time of the request, for conditions on the clock. Default: now.',
    example: '2026-11-20T09:00:00Z',
  })
  readonly at?: string;

  @OneOf(POLICY_EFFECTS, { enumName: 'PolicyEffect', description: 'The expected answer.', example: 'allow' })
  readonly expect!: PolicyEffect;

  @OptionalText({
    max: 200,
    description: 'The name of a policy that should be among those that decide.',
    example: 'collections-may-remind',
  })
  readonly by?: string;
}

const MOST_POLICIES = 10_000;
const MOST_TESTS = 1_000;
const DIGEST = /^[0-9a-f]{64}$/;

/** A set has only one version of a name. */
const namesDiffer: WholeRule = ({ policies }) => {
  const first = new Map<unknown, number>();
  return (Array.isArray(policies) ? (policies as readonly unknown[]) : []).flatMap((policy, index) => {
    const name = isObject(policy) ? policy['name'] : undefined;
    if (typeof name !== 'string') return [];
    const earlier = first.get(name) ?? index;
    first.set(name, earlier);
    if (earlier === index) return [];
    const message = `must differ from policies[${earlier}].name: a set has one version of a policy`;
    return [{ field: `policies[${index}].name`, message }];
  });
};

const EXAMPLE: readonly Partial<CreatePolicyRequest>[] = [
  {
    name: 'ledgers-stay',
    version: '1.0',
    effect: 'deny',
    subjects: ['*'],
    actions: ['delete'],
    resources: ['ledgers/*'],
  },
];

const PRUNE = {
  optional: true,
  default: false,
  description: 'Deactivates the policies in force whose names the set does not contain.',
  example: false,
} as const;

function PolicySetField(description: string): PropertyDecorator {
  return ListOf(CreatePolicyRequest, { maxItems: MOST_POLICIES, description, example: EXAMPLE });
}

@WholeRequest(namesDiffer)
export class PlanPoliciesRequest {
  @PolicySetField('The set as it should be, each as in `POST /policies`.')
  readonly policies!: readonly CreatePolicyRequest[];

  @BooleanField(PRUNE)
  readonly prune?: boolean;

  @ListOf(PolicyTestRequest, {
    optional: true,
    maxItems: MOST_TESTS,
    description: 'Questions to the planned set, with the expected answers. Nothing has to be applied first.',
  })
  readonly tests?: readonly PolicyTestRequest[];

  @Field(REPLAY, {
    optional: true,
    description: 'Also evaluate recorded executions again, each with its agent as it was then, the newest first.',
  })
  readonly replay?: GivenReplay;
}

@WholeRequest(namesDiffer)
export class ApplyPoliciesRequest {
  @RequiredText({
    max: 64,
    description: 'The `base` that the plan returned, or the `policySet` of the last apply.',
    example: SAMPLE_POLICY_SET,
    rule: (text) => (DIGEST.test(text) ? undefined : 'must be a SHA-256: 64 digits 0-9, a-f'),
  })
  readonly base!: string;

  @PolicySetField('The set as it should be, as it was planned.')
  readonly policies!: readonly CreatePolicyRequest[];

  @BooleanField(PRUNE)
  readonly prune?: boolean;
}
