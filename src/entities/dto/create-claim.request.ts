import { FreeFormObject, ScalarField } from '../../http/validation/body-fields';
import type { FaultInside } from '../../http/validation/member-rule';
import { RequiredText } from '../../http/validation/text-fields';
import type { JsonObject } from '../../json/json-value';

export class CreateClaimRequest {
  @RequiredText({ max: 255, description: 'Name of the relation or attribute.', example: 'data_classification' })
  readonly predicate!: string;

  @ScalarField({ maxLength: 10_000, description: 'A string, a number or a boolean.', example: 'confidential' })
  readonly value!: string | number | boolean;

  @FreeFormObject({
    optional: true,
    default: {},
    description: 'Free-form members. `confidence`, when given, is a number from 0 to 1.',
    example: { confidence: 0.95, source: 'data-catalogue' },
    rule: confidenceFaults,
  })
  readonly context?: JsonObject;
}

function confidenceFaults(context: JsonObject): readonly FaultInside[] {
  if (!Object.hasOwn(context, 'confidence')) return [];
  const { confidence } = context;
  const isFraction = typeof confidence === 'number' && confidence >= 0 && confidence <= 1;
  return isFraction ? [] : [{ at: '.confidence', message: 'must be a number from 0 to 1' }];
}
