import { ApiProperty } from '@nestjs/swagger';

export const ACTOR_TYPES = ['api_key', 'token', 'agent', 'system'] as const;

export class ActorResponse {
  @ApiProperty({
    enum: ACTOR_TYPES,
    enumName: 'ActorType',
    example: 'api_key',
    description: '`system` is the service acting automatically.',
  })
  readonly type!: string;

  @ApiProperty({ example: 'env' })
  readonly id!: string;
}
