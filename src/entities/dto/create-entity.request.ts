import { FreeFormObject } from '../../http/validation/body-fields';
import { RequiredText } from '../../http/validation/text-fields';
import type { JsonObject } from '../../json/json-value';

export class CreateEntityRequest {
  @RequiredText({ max: 100, description: 'Category of the entity; lists filter by it.', example: 'service' })
  readonly type!: string;

  @RequiredText({ max: 255, description: 'Display name.', example: 'Payment gateway' })
  readonly name!: string;

  @FreeFormObject({
    optional: true,
    default: {},
    description: 'Free-form members; they are returned as they were sent.',
    example: { owner: 'team-payments', tier: 1 },
  })
  readonly properties?: JsonObject;
}
