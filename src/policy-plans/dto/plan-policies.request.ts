import { BooleanField, ListOf } from '../../http/validation/body-fields';
import { WholeRequest, type WholeRule } from '../../http/validation/dto-shape';
import { RequiredText } from '../../http/validation/text-fields';
import { SAMPLE_POLICY_SET } from '../../openapi/sample-id';
import { CreatePolicyRequest } from '../../policies/dto/create-policy.request';
import { PolicyTestRequest } from './policy-test.request';
import { type GivenReplay, ReplayField } from './replay-field.decorator';

const MOST_POLICIES = 10_000;
const MOST_TESTS = 1_000;
const DIGEST = /^[0-9a-f]{64}$/;

/** A set has only one version of a name. */
const namesDiffer: WholeRule = ({ policies }) => {
  const first = new Map<unknown, number>();
  return (Array.isArray(policies) ? (policies as readonly unknown[]) : []).flatMap((policy, index) => {
    const name: unknown = typeof policy === 'object' && policy !== null && 'name' in policy ? policy.name : undefined;
    if (typeof name !== 'string') return [];
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    return [
      {
        field: `policies[${index}].name`,
        message: `must differ from policies[${earlier}].name: a set has one version of a policy`,
      },
    ];
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

@WholeRequest(namesDiffer)
export class PlanPoliciesRequest {
  @ListOf(CreatePolicyRequest, {
    maxItems: MOST_POLICIES,
    description: 'The set as it should be, each as in `POST /policies`.',
    example: EXAMPLE,
  })
  readonly policies!: readonly CreatePolicyRequest[];

  @BooleanField(PRUNE)
  readonly prune?: boolean;

  @ListOf(PolicyTestRequest, {
    optional: true,
    maxItems: MOST_TESTS,
    description: 'Questions to the planned set, with the expected answers. Nothing has to be applied first.',
  })
  readonly tests?: readonly PolicyTestRequest[];

  @ReplayField()
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

  @ListOf(CreatePolicyRequest, {
    maxItems: MOST_POLICIES,
    description: 'The set as it should be, as it was planned.',
    example: EXAMPLE,
  })
  readonly policies!: readonly CreatePolicyRequest[];

  @BooleanField(PRUNE)
  readonly prune?: boolean;
}
