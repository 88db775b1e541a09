import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../openapi/sample-id';
import type { JsonObject, JsonScalar } from '../../json/json-value';
import type { Claim } from '../claim.entity';

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
