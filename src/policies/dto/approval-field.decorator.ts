import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { RISK_LEVELS } from '../../config/configuration';
import { optionalMark, shown, shownChoice } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import { approvalFault, LONGEST_DURATION } from '../approval/given-approval';
import { APPROVERS_SCHEMA } from './approvers-field.decorator';

const DURATION = { type: 'string', minLength: 1, maxLength: LONGEST_DURATION } as const;

/** What has to be approved, if a policy requires it. A fault names its place. */
export function ApprovalField(): PropertyDecorator {
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('approval', approvalFault),
    ApiProperty({
      type: 'object',
      selfRequired: false,
      additionalProperties: false,
      ...shown({
        optional: true,
        description: 'With `require_approval` only. Members left out get their defaults, which are returned.',
      }),
      properties: {
        riskLevel: {
          ...shownChoice(RISK_LEVELS, { optional: true }),
          ...shown({ optional: true, default: 'medium' }),
        },
        approvers: {
          ...APPROVERS_SCHEMA,
          ...shown({
            optional: true,
            description:
              'Groups, all of which must approve, each with different reviewers. Without it any persons, as many as `REQUIRED_APPROVALS` says.',
          }),
        },
        decideWithin: {
          ...DURATION,
          ...shown({
            optional: true,
            default: 'P1D',
            description: 'ISO 8601: `P<n>W`, or `P[<n>D][T[<n>H][<n>M][<n>S]]`; from one second to 365 days.',
          }),
        },
        executeWithin: {
          ...DURATION,
          ...shown({ optional: true, default: 'PT1H', description: 'How long an approval is valid.' }),
        },
      },
    }),
  );
}
