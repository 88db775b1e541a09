import { ApiProperty } from '@nestjs/swagger';
import { ApiCount } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import type { JsonObject, JsonScalar } from '../../../core/json/json-value';
import type { GovernedEntity } from '../governed-entity.entity';
import type { Claim } from '../claim.entity';

export class EntityResponse {
  @ApiProperty({ example: sampleId('ent') })
  readonly id!: string;

  @ApiProperty({ example: 'service' })
  readonly type!: string;

  @ApiProperty({ example: 'Payment gateway' })
  readonly name!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { owner: 'team-payments', tier: 1 } })
  readonly properties!: JsonObject;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiCount('Incremented by each change; used as the ETag.', { minimum: 1 })
  readonly revision!: number;

  static from(this: void, row: GovernedEntity): EntityResponse {
    const { id, type, name, properties, createdAt, updatedAt, revision } = row;
    return { id, type, name, properties, createdAt, updatedAt, revision };
  }
}

export class ClaimResponse {
  @ApiProperty({ example: sampleId('clm') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly entityId!: string;

  @ApiProperty({ example: 'data_classification' })
  readonly predicate!: string;

  @ApiProperty({ oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }], example: 'confidential' })
  readonly value!: JsonScalar;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { confidence: 0.95, source: 'data-catalogue' } })
  readonly context!: JsonObject;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, row: Claim): ClaimResponse {
    const { id, entityId, predicate, value, context, createdAt } = row;
    return { id, entityId, predicate, value, context, createdAt };
  }
}
