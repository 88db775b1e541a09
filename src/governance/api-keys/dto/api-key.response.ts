import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableText, ApiNullableTime } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { type Scope, SCOPES, type Caller } from '../../../ledger/caller';
import { API_KEY_STATUSES, type ApiKey, type ApiKeyStatus } from '../api-key.entity';
import type { IssuedKey } from '../api-keys.service';
import { ActorResponse } from '../../../http/authentication/actor.response';

const SAMPLE_PREFIX = `agk_${sampleId('key').slice('key_'.length)}`;

export class ApiKeyResponse {
  @ApiProperty({ example: sampleId('key') })
  readonly id!: string;

  @ApiProperty({ example: 'reminder-bot in production' })
  readonly name!: string;

  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  @ApiNullableText('Null: bound to no agent.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiMember('Patterns of the principals on whose behalf its holder may act.', { type: [String], example: ['user:*'] })
  readonly principals!: readonly string[];

  @ApiMember('What the secret begins with.', { example: SAMPLE_PREFIX })
  readonly prefix!: string;

  @ApiProperty({ enum: API_KEY_STATUSES, enumName: 'ApiKeyStatus', example: 'active' })
  readonly status!: ApiKeyStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiNullableTime('Null: never.')
  readonly expiresAt!: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly revokedAt!: string | null;

  static from(this: void, row: ApiKey): ApiKeyResponse {
    const { id, name, scopes, agentId, principals, prefix, status, createdAt, expiresAt, revokedAt } = row;
    return { id, name, scopes, agentId, principals, prefix, status, createdAt, expiresAt, revokedAt };
  }
}

export class IssuedApiKeyResponse extends ApiKeyResponse {
  @ApiMember('The key itself. It is returned only in this answer: the service stores nothing but its hash.', {
    example: `${SAMPLE_PREFIX}_${'x'.repeat(43)}`,
  })
  readonly secret!: string;

  static of({ key, secret }: IssuedKey): IssuedApiKeyResponse {
    return { ...ApiKeyResponse.from(key), secret };
  }
}

export class MeResponse {
  @ApiMember('The actor that audit entries of your requests name.', { type: ActorResponse })
  readonly actor!: ActorResponse;

  @ApiNullableText('Null: bound to no agent.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  @ApiNullableTime('Null: never.')
  readonly expiresAt!: string | null;

  static of({ actor, agentId, scopes, expiresAt }: Caller): MeResponse {
    return { actor, agentId, scopes, expiresAt };
  }
}
