import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../openapi/sample-id';
import type { JsonObject } from '../../json/json-value';
import type { GovernedEntity } from '../governed-entity.entity';

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

  @ApiProperty({
    type: 'integer',
    minimum: 1,
    example: 1,
    description: 'Incremented by each change; used as the ETag.',
  })
  readonly revision!: number;

  static from(this: void, row: GovernedEntity): EntityResponse {
    const { id, type, name, properties, createdAt, updatedAt, revision } = row;
    return { id, type, name, properties, createdAt, updatedAt, revision };
  }
}
