import type { SchemaObject } from '@nestjs/swagger';
import { type FieldText, shown, shownChoice, Field } from '../../../http/validation/fields';
import { type FaultInside, textFault } from '../../../http/validation/value-rules';
import { ANY_JSON_SCHEMA } from '../../../core/json/json-value';
import { conditionsFault, LONGEST_POINTER, MOST_CONDITIONS } from '../conditions/given-conditions';
import type { ApproverGroup } from '../approval/approval-requirement';
import {
  distinctApproversFault,
  LONGEST_SUBJECT,
  MOST_APPROVALS,
  MOST_GROUPS,
  MOST_SUBJECTS,
  approvalFault,
  LONGEST_DURATION,
} from '../approval/given-approval';
import { RISK_LEVELS } from '../../../core/config/variables/governance-variables';

interface PatternListField {
  /** Fewest items; 0 makes the list optional. */
  readonly minItems: number;
  /** Longest item in code points. */
  readonly maxLength: number;
  /** What else is wrong with an item; undefined when nothing is. */
  readonly rule: (item: string) => string | undefined;
  readonly description: string;
  readonly example: readonly string[];
}

const MAX_ITEMS = 100;

/** A list of a policy's patterns. Repetitions do no harm. A fault names the index. */
export function PatternList(field: PatternListField): PropertyDecorator {
  const { minItems, maxLength } = field;
  const optional = minItems === 0;
  const items = { type: 'string', minLength: 1, maxLength } as const;
  const described = { ...field, optional, ...(optional && { default: [] }) };
  const schema = { type: 'array', items, minItems, maxItems: MAX_ITEMS };
  return Field('patternList', described, (value) => listFault(value, field), schema);
}

function listFault(
  value: unknown,
  { minItems, maxLength, rule }: PatternListField,
): string | FaultInside[] | undefined {
  if (value === undefined) return 'is required';
  if (!Array.isArray(value)) return 'must be an array of strings';
  if (value.length < minItems || value.length > MAX_ITEMS) return `must have ${minItems} to ${MAX_ITEMS} items`;
  return value.flatMap((item: unknown, index): FaultInside[] => {
    const message = textFault(item, { max: maxLength, rule });
    return message === undefined ? [] : [{ at: `[${index}]`, message }];
  });
}

/** What a policy requires of the parameters. A fault names its place. */
export function ConditionsField(): PropertyDecorator {
  const field = {
    optional: true,
    default: [],
    description:
      'All must hold. An allow matches when all are true, a deny or require_approval unless one is false: leaving a parameter out does not evade it.',
  };
  const schema = { type: 'array', maxItems: MOST_CONDITIONS, items: CONDITION };
  return Field('conditions', field, conditionsFault, schema);
}

const CONDITION: SchemaObject = {
  type: 'object',
  additionalProperties: false,
  required: ['op', 'value'],
  properties: {
    parameter: {
      type: 'string',
      minLength: 1,
      maxLength: LONGEST_POINTER,
      description:
        'A JSON Pointer (RFC 6901) into the parameters of the request; a `*` as one of its tokens stands for each item of a list.',
    },
    clock: {
      type: 'string',
      minLength: 1,
      description: 'Instead of a parameter: an IANA time zone, with `between` and two times.',
    },
    days: {
      type: 'array',
      items: { $ref: '#/components/schemas/DayOfWeek' },
      minItems: 1,
      nullable: true,
      description: 'With `clock`: on these days. Without it every day.',
    },
    // Refers to the answer's schema by name: clients get one type for it.
    op: { $ref: '#/components/schemas/ConditionOperator' },
    value: ANY_JSON_SCHEMA,
  },
};

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
  return Field('approvers', { ...field, optional: true }, distinctApproversFault, APPROVERS_SCHEMA);
}

const DURATION = { type: 'string', minLength: 1, maxLength: LONGEST_DURATION } as const;

/** What has to be approved, if a policy requires it. A fault names its place. */
export function ApprovalField(): PropertyDecorator {
  const description = 'With `require_approval` only. Members left out get their defaults, which are returned.';
  return Field('approval', { optional: true, description }, approvalFault, APPROVAL);
}

const APPROVAL = {
  type: 'object',
  additionalProperties: false,
  properties: {
    riskLevel: { ...shownChoice(RISK_LEVELS, { optional: true }), ...shown({ optional: true, default: 'medium' }) },
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
};
