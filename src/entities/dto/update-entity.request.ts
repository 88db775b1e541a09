import { AtLeastOneOf, FreeFormObject, IgnoredField } from '../../http/validation/body-fields';
import { OptionalText } from '../../http/validation/text-fields';
import type { JsonObject } from '../../json/json-value';

/**
 * Absent members stay unchanged. The other members of an answer are accepted, so that it can be edited and sent back.
 */
@AtLeastOneOf('type', 'name', 'properties')
export class UpdateEntityRequest {
  @OptionalText({ max: 100, description: 'Category of the entity.', example: 'service' })
  readonly type?: string;

  @OptionalText({ max: 255, description: 'Display name.', example: 'Payment gateway (EU)' })
  readonly name?: string;

  @FreeFormObject({ optional: true, description: 'Replaced whole.', example: { owner: 'team-payments', tier: 2 } })
  readonly properties?: JsonObject;

  @OptionalText({ max: 100, description: 'Must equal the id in the path, if given.' })
  readonly id?: string;

  @IgnoredField({})
  readonly createdAt?: unknown;

  @IgnoredField({})
  readonly updatedAt?: unknown;

  @IgnoredField({})
  readonly revision?: unknown;
}
