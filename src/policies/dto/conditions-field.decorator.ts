import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON_SCHEMA } from '../../json/any-json-schema';
import { optionalMark, shown } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import { conditionsFault, LONGEST_POINTER, MOST_CONDITIONS } from '../conditions/condition-fault';

/** What a policy requires of the parameters. A fault names its place. */
export function ConditionsField(): PropertyDecorator {
  return applyDecorators(
    ...optionalMark({ optional: true }),
    CheckedBy('conditions', conditionsFault),
    ApiProperty({
      type: 'array',
      required: false,
      maxItems: MOST_CONDITIONS,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['parameter', 'op', 'value'],
        properties: {
          parameter: {
            type: 'string',
            minLength: 1,
            maxLength: LONGEST_POINTER,
            description: 'A JSON Pointer (RFC 6901) into the parameters of the request.',
          },
          // Refers to the answer's schema by name: clients get one type for it.
          op: { $ref: '#/components/schemas/ConditionOperator' },
          value: ANY_JSON_SCHEMA,
        },
      },
      ...shown({
        optional: true,
        default: [],
        description:
          'All must hold. An allow matches when all are true, a deny or require_approval unless one is false: leaving a parameter out does not evade it.',
      }),
    }),
  );
}
