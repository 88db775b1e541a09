import { reservedFaults } from '../../secrets/replacement';
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
import {
  integerShape,
  isObject,
  listShape,
  member,
  objectShape,
  type Shape,
  textShape,
} from '../../../http/validation/shapes';
import { decimalOf } from '../../../core/values/decimal';
import type { EarlierAction, TestUse } from '../test-facts';
import { normaliseAgentName } from '../../agents/agent-name';
import { CreateAgentRequest, NAMED_AGENT } from '../../agents/dto/agent.dto';
import { type PrincipalInput, OnBehalfOfField, RunField } from '../../permissions/principals';
import {
  type CheckInput,
  type SubjectInput,
  ACTION,
  RESOURCE_ID,
  RESOURCE_TYPE,
  whoFaults,
} from '../../permissions/evaluation/permission-checks';
import { SubjectField } from '../../permissions/evaluation/dto/evaluate.request';
import type { JsonObject } from '../../../core/json/json-value';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/evaluation';
import { SAMPLE_POLICY_SET } from '../../../http/openapi/documentation.decorators';
import { TEAM } from '../../agents/team';
import { CreatePolicyRequest } from '../../policies/dto/policy.dto';

/** The period of a replay as sent in a request; null counts as left out. */
type ReplayInput = Readonly<Partial<Record<'from' | 'to', string | null>>>;

/** The period of a replay: times in ISO 8601 in UTC with milliseconds, both included. */
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
  (value) => {
    const { from, to } = replayPeriod(value);
    const isOrdered = from === undefined || to === undefined || from <= to;
    return isOrdered ? [] : [{ at: '.from', message: 'must not be later than to' }];
  },
);

/** The times of a valid replay period. */
export function replayPeriod({ from, to }: ReplayInput): ReplayPeriod {
  return { from: timeOf(from), to: timeOf(to) };
}

/** Parses a time; undefined if the value is none, which is reported for its own field. */
function timeOf(value: unknown): string | undefined {
  return typeof value === 'string' ? parseTimestampOrDate(value) : undefined;
}

const MAX_EARLIER = 100;
const MAX_USED = 100;
const AMOUNT = 'must be a number from 0 with at most 15 digits and no exponent';

const EARLIER_ACTION = objectShape({
  action: member(textShape(ACTION), { description: 'As in execute.', example: 'look-up' }),
  resourceType: member(textShape(RESOURCE_TYPE), {
    optional: true,
    description: 'Default: that of the test.',
    example: 'order',
  }),
  resourceId: member(textShape(RESOURCE_ID), {
    optional: true,
    description: 'Default: that of the test.',
    example: 'orders/7',
  }),
});
const USED = objectShape({
  policy: member(textShape({ max: 200 }), { description: 'The name of a policy of the set.', example: 'spend-alone' }),
  limit: member(integerShape(0, 4), { description: 'The index of its limit.', example: 0 }),
  amount: member(
    {
      rule: (value) => (decimalOf(value) === null ? AMOUNT : undefined),
      schema: { type: 'number', minimum: 0 },
    },
    { description: 'What was used of it in the window of the test.', example: 900 },
  ),
});

/** A check by the planned set, and the expected answer. */
@WholeRequest(whoFaults)
export class PolicyTestRequest implements CheckInput {
  @OptionalText({
    ...NAMED_AGENT,
    description: 'Id or name of a registered agent, whose capabilities and status count. Either this or `subject`.',
    example: 'reminder-bot',
  })
  readonly agent?: string;

  @SubjectField()
  readonly subject?: SubjectInput;

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
    rule: reservedFaults,
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

  @RunField()
  readonly run?: string;

  @Field(listShape(EARLIER_ACTION, 0, MAX_EARLIER, 'actions'), {
    optional: true,
    description:
      'What the agent was authorised to do just before, in the run of the test, for conditions on earlier actions. Default: ' +
      'that is not known.',
  })
  readonly earlier?: readonly EarlierAction[];

  @Field(listShape(USED, 0, MAX_USED, 'amounts'), {
    optional: true,
    description: 'What was used of limits in the windows of the test. Default: nothing.',
  })
  readonly used?: readonly TestUse[];

  @OneOf(POLICY_EFFECTS, { enumName: 'PolicyEffect', description: 'The expected answer.', example: 'allow' })
  readonly expect!: PolicyEffect;

  @OptionalText({
    max: 200,
    description: 'The name of a policy that should be among those that decide.',
    example: 'collections-may-remind',
  })
  readonly by?: string;
}

const MAX_POLICIES = 10_000;
const MAX_AGENTS = 1_000;
const MAX_TESTS = 1_000;
const DIGEST = /^[0-9a-f]{64}$/;

/** Requires that a name occurs only once, because a set has only one version of it. */
const namesDiffer: WholeRule = ({ policies }) =>
  repeatedNames('policies', policies, (name) => name, 'a set has one version of a policy');

const agentNamesDiffer: WholeRule = (request) => [
  ...namesDiffer(request),
  ...repeatedNames('agents', request['agents'], normaliseAgentName, 'names are unique'),
];

function repeatedNames(
  list: string,
  items: unknown,
  normalise: (name: string) => string,
  reason: string,
): { field: string; message: string }[] {
  const first = new Map<string, number>();
  return (Array.isArray(items) ? (items as readonly unknown[]) : []).flatMap((item, index) => {
    const name = isObject(item) ? item['name'] : undefined;
    if (typeof name !== 'string') return [];
    const earlier = first.get(normalise(name)) ?? index;
    first.set(normalise(name), earlier);
    if (earlier === index) return [];
    return [{ field: `${list}[${index}].name`, message: `must differ from ${list}[${earlier}].name: ${reason}` }];
  });
}

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

/** Team whose policies the set contains. */
function TeamField(): PropertyDecorator {
  const description =
    'The team whose policies the set has. Default: that of the key; without one, policies of no team.';
  return OptionalText({ ...TEAM, description, example: 'support' });
}

function PolicySetField(description: string): PropertyDecorator {
  return ListOf(CreatePolicyRequest, { maxItems: MAX_POLICIES, description, example: EXAMPLE });
}

@WholeRequest(namesDiffer)
export class PlanPoliciesRequest {
  @PolicySetField('The set as it should be, each as in `POST /policies`.')
  readonly policies!: readonly CreatePolicyRequest[];

  @BooleanField(PRUNE)
  readonly prune?: boolean;

  @TeamField()
  readonly team?: string | null;

  @ListOf(PolicyTestRequest, {
    optional: true,
    maxItems: MAX_TESTS,
    description: 'Questions to the planned set, with the expected answers. Nothing has to be applied first.',
  })
  readonly tests?: readonly PolicyTestRequest[];

  @Field(REPLAY, {
    optional: true,
    description: 'Also evaluate recorded executions again, each with its agent as it was then, the newest first.',
  })
  readonly replay?: ReplayInput;
}

@WholeRequest(agentNamesDiffer)
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

  @TeamField()
  readonly team?: string | null;

  @ListOf(CreateAgentRequest, {
    optional: true,
    maxItems: MAX_AGENTS,
    description:
      'Agents to register, or to change to this, in the same commit; each as in `POST /agents`, with the scopes that it needs. ' +
      'Members that are left out get their defaults; a team stays.',
  })
  readonly agents?: readonly CreateAgentRequest[];
}
