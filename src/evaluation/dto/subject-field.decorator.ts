import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { SchemaObject } from '@nestjs/swagger';
import { AGENT_KINDS } from '../../agents/agent-kind';
import { optionalMark, shown, shownChoice } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import { SUBJECT_NAME, SUBJECT_ROLES, subjectFault } from '../question-faults';

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
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('subject', subjectFault),
    ApiProperty({ ...SUBJECT, selfRequired: false, ...shown({ optional: true, description }) } as object),
  );
}
