import { WholeRequest } from '../../../../http/validation/dto';
import { BooleanField, Field, FreeFormObject, LongListField, OptionalText } from '../../../../http/validation/fields';
import {
  type CheckInput,
  type SubjectInput,
  ACTION,
  REQUESTS,
  REQUESTS_DESCRIPTION,
  RESOURCE_ID,
  RESOURCE_TYPE,
  SUBJECT,
  togetherFaults,
} from '../permission-checks';
import { reservedFaults } from '../../../secrets/replacement';
import { SecretPointersField } from '../../../secrets/secret-field';
import { NAMED_AGENT } from '../../../agents/dto/agent.dto';
import { MomentField } from '../../../../http/reading/as-of.query';
import type { Moment } from '../../../../ledger/record-history';
import type { JsonObject } from '../../../../core/json/json-value';
import { type PrincipalInput, OnBehalfOfField, RunField } from '../../principals';

/** Members of an agent that policies use, in place of a registered agent. */
export function SubjectField(): PropertyDecorator {
  const description =
    'Instead of `agent`: an agent that is not registered. Capabilities are not checked. It is matched by `*`, `agent:*`, ' +
    '`kind:…`, its roles, and its name.';
  return Field(SUBJECT, { optional: true, description });
}

@WholeRequest(togetherFaults)
export class EvaluateRequest implements CheckInput {
  @OptionalText({ ...NAMED_AGENT, description: 'Id or name of an agent.', example: 'reminder-bot' })
  readonly agent?: string;

  @SubjectField()
  readonly subject?: SubjectInput;

  @OnBehalfOfField('As in execute.')
  readonly onBehalfOf?: PrincipalInput;

  @RunField()
  readonly run?: string;

  @OptionalText({ ...ACTION, description: 'As in execute.', example: 'send-reminder' })
  readonly action?: string;

  @OptionalText({ ...RESOURCE_TYPE, description: 'As in execute.', example: 'document' })
  readonly resourceType?: string;

  @OptionalText({ ...RESOURCE_ID, description: 'As in execute.', example: 'invoices/2026/0042' })
  readonly resourceId?: string;

  @FreeFormObject({
    optional: true,
    default: {},
    rule: reservedFaults,
    description: 'As in execute: what the conditions of policies examine.',
    example: { to: 'customer@example.com' },
  })
  readonly parameters?: JsonObject;

  @SecretPointersField('values in `parameters`')
  readonly secret?: readonly string[];

  @BooleanField({
    optional: true,
    default: false,
    description: 'Also say which policies matched, and which would have helped.',
  })
  readonly explain?: boolean;

  @BooleanField({
    optional: true,
    default: false,
    description:
      'With `requests`: assumes that conditions, and whatever else depends on more than the request, turn out for ' +
      'the best. `deny` then means that no parameters could make it allowed.',
  })
  readonly open?: boolean;

  @MomentField({
    description:
      'Evaluates the policies and agents of an earlier state: after the entry with this sequence, or at this time as text. Default: now.',
  })
  readonly asOf?: Moment;

  @LongListField(REQUESTS, { optional: true, description: REQUESTS_DESCRIPTION })
  readonly requests?: readonly CheckInput[];
}
