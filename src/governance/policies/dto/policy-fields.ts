import { Field, type FieldText } from '../../../http/validation/fields';
import { listShape, textShape } from '../../../http/validation/shapes';
import { APPROVAL, APPROVERS, distinctApproversFault } from '../approval/given-approval';
import type { ApproverGroup } from '../approval/approval-requirement';
import { LIMITS } from '../limits/given-limits';
import { CONDITIONS } from '../conditions/given-conditions';

interface PatternListField {
  /** Fewest items; 0 makes the list optional. */
  readonly minItems: number;
  /** Most items; 100 unless it says so. */
  readonly maxItems?: number;
  /** Longest item in code points. */
  readonly maxLength: number;
  /** What else is wrong with an item; undefined when nothing is. */
  readonly rule: (item: string) => string | undefined;
  readonly description: string;
  readonly example?: readonly string[];
}

const MAX_ITEMS = 100;

/** A list of a policy's patterns. Repetitions do no harm. */
export function PatternList(field: PatternListField): PropertyDecorator {
  const { minItems, maxItems = MAX_ITEMS, maxLength: max, rule } = field;
  const optional = minItems === 0;
  const item = textShape({ max, rule });
  const described = { ...field, optional, ...(optional && { default: [] }) };
  const schema = { type: 'array', items: item.schema, minItems, maxItems };
  return Field('patternList', described, listShape(item, minItems, maxItems, 'strings').rule, schema);
}

/** What a policy requires of the parameters, and of the time. */
export function ConditionsField(): PropertyDecorator {
  const field = {
    optional: true,
    default: [],
    description:
      'All must hold. An allow matches when all are true, a deny or require_approval unless one is false: leaving a parameter out does not evade it.',
  };
  return Field('conditions', field, CONDITIONS.rule, CONDITIONS.schema);
}

/** How much an allow allows by itself. */
export function LimitsField(): PropertyDecorator {
  const field = {
    optional: true,
    default: [],
    description:
      'With `allow` only: the policy matches while, for each of them, what was used in this window plus what is asked is at most `max`. No two count the same.',
  };
  return Field('limits', field, LIMITS.rule, LIMITS.schema);
}

/** Groups of approvers, no two of them with the same subjects. */
export function ApproversField(field: FieldText<readonly ApproverGroup[]>): PropertyDecorator {
  return Field('approvers', { ...field, optional: true }, distinctApproversFault, APPROVERS.schema);
}

/** What has to be approved, if a policy requires it. */
export function ApprovalField(): PropertyDecorator {
  const description = 'With `require_approval` only. Members left out get their defaults, which are returned.';
  return Field('approval', { optional: true, description }, APPROVAL.rule, APPROVAL.schema);
}
