import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { SchemaObject } from '@nestjs/swagger';
import { BooleanField, FreeFormObject } from '../../http/validation/body-fields';
import { NotStored, WholeRequest } from '../../http/validation/dto-shape';
import { optionalMark, shown } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import { OptionalText } from '../../http/validation/text-fields';
import { MomentField } from '../../http/as-of/moment-field';
import type { Moment } from '../../ledger/record-history';
import type { JsonObject } from '../../json/json-value';
import type { GivenQuestion, GivenSubject } from '../asked-permission';
import {
  ACTION,
  AGENT_REFERENCE,
  MOST_EXPLAINED,
  MOST_REQUESTS,
  requestsFault,
  RESOURCE_ID,
  RESOURCE_TYPE,
  togetherFaults,
} from '../question-faults';
import { SUBJECT, SubjectField } from './subject-field.decorator';

const QUESTION: SchemaObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    agent: { type: 'string', minLength: 1, maxLength: AGENT_REFERENCE.max, ...shown({ optional: true }) },
    subject: { ...SUBJECT, ...shown({ optional: true }) },
    action: { type: 'string', minLength: 1, maxLength: ACTION.max, ...shown({ optional: true }) },
    resourceType: { type: 'string', minLength: 1, maxLength: RESOURCE_TYPE.max, ...shown({ optional: true }) },
    resourceId: { type: 'string', minLength: 1, maxLength: RESOURCE_ID.max, ...shown({ optional: true }) },
    parameters: { type: 'object', additionalProperties: true, ...shown({ optional: true }) },
  },
};

function RequestsField(): PropertyDecorator {
  const description =
    `Up to ${MOST_REQUESTS} questions, with \`explain\` ${MOST_EXPLAINED}, answered by one set of policies. Members that one leaves ` +
    'out are taken from those next to the list; its `agent` or `subject` replaces either of them.';
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('requests', requestsFault),
    NotStored(),
    ApiProperty({
      type: 'array',
      minItems: 1,
      maxItems: MOST_REQUESTS,
      items: QUESTION,
      required: false,
      ...shown({ optional: true, description }),
    }),
  );
}

@WholeRequest(togetherFaults)
export class EvaluateRequest implements GivenQuestion {
  @OptionalText({ ...AGENT_REFERENCE, description: 'Id or name of an agent.', example: 'reminder-bot' })
  readonly agent?: string;

  @SubjectField()
  readonly subject?: GivenSubject;

  @OptionalText({ ...ACTION, description: 'As in execute.', example: 'send-reminder' })
  readonly action?: string;

  @OptionalText({ ...RESOURCE_TYPE, description: 'As in execute.', example: 'document' })
  readonly resourceType?: string;

  @OptionalText({ ...RESOURCE_ID, description: 'As in execute.', example: 'invoices/2026/0042' })
  readonly resourceId?: string;

  @FreeFormObject({
    optional: true,
    default: {},
    description: 'As in execute: what the conditions of policies examine.',
    example: { to: 'customer@example.com' },
  })
  readonly parameters?: JsonObject;

  @BooleanField({
    optional: true,
    default: false,
    description: 'Also say which policies matched, and which would have helped.',
  })
  readonly explain?: boolean;

  @MomentField({
    description:
      'Evaluates the policies and agents of an earlier state: after the entry with this sequence, or at this time as text. Default: now.',
  })
  readonly asOf?: Moment;

  @RequestsField()
  readonly requests?: readonly GivenQuestion[];
}
