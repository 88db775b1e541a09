import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type SchemaObject } from '@nestjs/swagger';
import { type FieldText, optionalMark, shown } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import type { ApproverGroup } from '../approval/approval-requirement';
import {
  distinctApproversFault,
  LONGEST_SUBJECT,
  MOST_APPROVALS,
  MOST_GROUPS,
  MOST_SUBJECTS,
} from '../approval/given-approval';

const GROUP: SchemaObject = {
  type: 'object',
  additionalProperties: false,
  required: ['subjects'],
  properties: {
    subjects: {
      type: 'array',
      minItems: 1,
      maxItems: MOST_SUBJECTS,
      items: { type: 'string', minLength: 1, maxLength: LONGEST_SUBJECT },
      description:
        'As in a policy. `*`, `agent:*`, `role:<role>` and `role:*` match people only: a machine belongs to a group only if it is named, or by `kind:machine`.',
    },
    approvals: {
      type: 'integer',
      minimum: 1,
      maximum: MOST_APPROVALS,
      ...shown({ optional: true, default: 1, description: 'By different reviewers.' }),
    },
  },
};

/** Groups of approvers, as a client sends them. */
export const APPROVERS_SCHEMA = { type: 'array', minItems: 1, maxItems: MOST_GROUPS, items: GROUP } as const;

/** Groups of approvers, no two of them with the same subjects. A fault names its place. */
export function ApproversField(field: FieldText<readonly ApproverGroup[]>): PropertyDecorator {
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('approvers', distinctApproversFault),
    ApiProperty({ ...APPROVERS_SCHEMA, required: false, ...shown({ ...field, optional: true }) }),
  );
}
