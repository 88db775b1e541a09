import { ApiProperty } from '@nestjs/swagger';

const ACTOR_TYPES = ['api_key', 'token', 'agent', 'slack', 'system'] as const;

export class ActorResponse {
  @ApiProperty({
    enum: ACTOR_TYPES,
    enumName: 'ActorType',
    example: 'api_key',
    description: '`slack` is a person who clicked there, `system` the service acting automatically.',
  })
  readonly type!: string;

  @ApiProperty({ example: 'env' })
  readonly id!: string;
}
