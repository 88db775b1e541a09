import type { SchemaObject } from '@nestjs/swagger';
import { AGENT_KINDS } from '../../../agents/agent-name';
import { WholeRequest } from '../../../../http/validation/dto';
import {
  BooleanField,
  FreeFormObject,
  OptionalText,
  shown,
  shownChoice,
  Field,
} from '../../../../http/validation/fields';
import {
  SUBJECT_NAME,
  SUBJECT_ROLES,
  subjectFault,
  ACTION,
  AGENT_REFERENCE,
  MOST_EXPLAINED,
  MOST_REQUESTS,
  requestsFault,
  RESOURCE_ID,
  RESOURCE_TYPE,
  togetherFaults,
} from '../question-faults';
import { MomentField } from '../../../../http/as-of/as-of.query';
import type { Moment } from '../../../../ledger/record-history';
import type { JsonObject } from '../../../../core/json/json-value';
import type { GivenQuestion, GivenSubject } from '../questions';

export const SUBJECT: SchemaObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: SUBJECT_NAME.max, ...shown({ optional: true }) },
    roles: {
      type: 'array',
      maxItems: SUBJECT_ROLES.maxItems,
      items: { type: 'string', minLength: 1, maxLength: SUBJECT_ROLES.item.max },
      ...shown({ optional: true, default: [] }),
    },
    kind: { ...shownChoice(AGENT_KINDS, { optional: true }), ...shown({ optional: true, default: 'machine' }) },
  },
};

/** An alternative to a registered agent: the members of an agent that policies look at. */
export function SubjectField(): PropertyDecorator {
  const description =
    'Instead of `agent`: an agent that is not registered. Capabilities are not checked. It is matched by `*`, `agent:*`, ' +
    '`kind:…`, its roles, and its name.';
  return Field('subject', { optional: true, description }, subjectFault, SUBJECT);
}

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
  const schema = { type: 'array', minItems: 1, maxItems: MOST_REQUESTS, items: QUESTION };
  return Field('requests', { optional: true, description }, requestsFault, schema);
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

  @BooleanField({
    optional: true,
    default: false,
    description:
      'With `requests`: conditions, and whatever else is asked besides the request, are taken as they are best. `deny`: no ' +
      'parameters could make it allowed.',
  })
  readonly open?: boolean;

  @MomentField({
    description:
      'Evaluates the policies and agents of an earlier state: after the entry with this sequence, or at this time as text. Default: now.',
  })
  readonly asOf?: Moment;

  @RequestsField()
  readonly requests?: readonly GivenQuestion[];
}
