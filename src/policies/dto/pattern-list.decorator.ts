import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { optionalMark, shown } from '../../http/validation/field-text';
import { CheckedBy } from '../../http/validation/member-rule';
import type { FaultInside } from '../../http/validation/member-rule';
import { textFault } from '../../http/validation/value-rules';

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
  return applyDecorators(
    ...optionalMark({ optional }),
    CheckedBy('patternList', (value) => listFault(value, field)),
    ApiProperty({
      type: 'array',
      items,
      minItems,
      maxItems: MAX_ITEMS,
      required: !optional,
      ...shown({ ...field, optional, ...(optional && { default: [] }) }),
    }),
  );
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
