import { FreeFormObject } from '../../http/validation/body-fields';
import { WholeRequest } from '../../http/validation/dto-shape';
import { OneOf, OptionalText, RequiredText } from '../../http/validation/text-fields';
import type { GivenSubject } from '../../evaluation/asked-permission';
import { SubjectField } from '../../evaluation/dto/subject-field.decorator';
import { ACTION, AGENT_REFERENCE, RESOURCE_ID, RESOURCE_TYPE, whoFaults } from '../../evaluation/question-faults';
import type { JsonObject } from '../../json/json-value';
import type { PolicyTest } from '../policy-tests';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/policy-effect';

/** A question to the planned set, and the expected answer. */
@WholeRequest(whoFaults)
export class PolicyTestRequest implements PolicyTest {
  @OptionalText({
    ...AGENT_REFERENCE,
    description: 'Id or name of a registered agent, whose capabilities and status count. Either this or `subject`.',
    example: 'reminder-bot',
  })
  readonly agent?: string;

  @SubjectField()
  readonly subject?: GivenSubject;

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

  @OneOf(POLICY_EFFECTS, { enumName: 'PolicyEffect', description: 'The expected answer.', example: 'allow' })
  readonly expect!: PolicyEffect;

  @OptionalText({
    max: 200,
    description: 'The name of a policy that should be among those that decide.',
    example: 'collections-may-remind',
  })
  readonly by?: string;
}
