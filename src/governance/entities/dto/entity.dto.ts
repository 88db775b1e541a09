import { OmitType } from '@nestjs/swagger';
import {
  AtLeastOneOf,
  FreeFormObject,
  IgnoredField,
  OptionalText,
  RequiredText,
  ScalarField,
} from '../../../http/validation/fields';
import { QueryText } from '../../../http/validation/query-fields';
import type { FaultInside } from '../../../http/validation/shapes';
import type { JsonObject } from '../../../core/json/json-value';
import { ListQuery } from '../../../http/lists/list.query';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';
import { GovernedEntity } from '../governed-entity.entity';
import { Claim } from '../claim.entity';

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

/**
 * Absent members stay unchanged. Other members of a response are accepted, so that it can be edited and sent back.
 */
@AtLeastOneOf('type', 'name', 'properties')
export class UpdateEntityRequest {
  @OptionalText({ max: 100, description: 'Category of the entity.', example: 'service' })
  readonly type?: string;

  @OptionalText({ max: 255, description: 'Display name.', example: 'Payment gateway (EU)' })
  readonly name?: string;

  @FreeFormObject({
    optional: true,
    description: 'Replaces all properties.',
    example: { owner: 'team-payments', tier: 2 },
  })
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

export class EntityListQuery extends ListQuery {
  @QueryText({ max: 100, description: 'Only entities of this type.' })
  readonly type?: string;

  @QueryText({ max: 255, description: 'Only entities with exactly this name; several may have it.' })
  readonly name?: string;
}

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

export class ClaimListQuery extends ListQuery {
  @QueryText({ max: 255, description: 'Only claims with this predicate.' })
  readonly predicate?: string;
}

export class EntityResponse extends OmitType(GovernedEntity, ['createdSequence'] as const) {
  static readonly from: ResponseMapper<EntityResponse> = responseMapper(EntityResponse);
}

export class ClaimResponse extends OmitType(Claim, ['createdSequence', 'predicateKey'] as const) {
  static readonly from: ResponseMapper<ClaimResponse> = responseMapper(ClaimResponse);
}
