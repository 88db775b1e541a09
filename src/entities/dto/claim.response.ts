import { ApiProperty } from '@nestjs/swagger';
import type { JsonObject, JsonScalar } from '../../json/json-value';
import type { Claim } from '../claim.entity';

export class ClaimResponse {
  @ApiProperty({ example: 'clm_01KAGQ6B1T5M3C9H8W2E7XZ4PK' })
  readonly id!: string;

  @ApiProperty({ example: 'ent_01KAGQ5W3SYJ8V6D2N4B7XZ9RM' })
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
