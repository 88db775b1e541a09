import { secretPointerFault } from '../../core/values/secret-pointers';
import { DistinctStrings } from '../../http/validation/fields';
import { type Shape, textsShape, type TextListLimits } from '../../http/validation/shapes';

const LIMITS: TextListLimits = { maxItems: 10, item: { max: 500, rule: secretPointerFault } };

/** Pointers to secrets, as a member of an object in the body. */
export const SECRET_POINTERS: Shape = textsShape(LIMITS);

export function SecretPointersField(what: string): PropertyDecorator {
  return DistinctStrings({
    ...LIMITS,
    optional: true,
    description: `JSON Pointers to ${what} that are not kept, in addition to those of \`SECRET_PARAMETERS\`.`,
    example: ['/card/number'],
  });
}
