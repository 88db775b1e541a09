import { ApiProperty, OmitType } from '@nestjs/swagger';
import {
  ApiMember,
  ApiNullableText,
  ApiNullableTime,
  type ShownAs,
  shownAs,
} from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { type Scope, SCOPES } from '../../../ledger/caller';
import { ActorResponse } from '../../../http/authentication/actor.response';
import { ApiKey, SAMPLE_PREFIX } from '../api-key.entity';

export class ApiKeyResponse extends OmitType(ApiKey, ['createdSequence', 'secretHash'] as const) {
  static readonly from: ShownAs<ApiKeyResponse> = shownAs(ApiKeyResponse);
}

export class IssuedApiKeyResponse extends ApiKeyResponse {
  @ApiMember('The key itself. It is returned only in this answer: the service stores nothing but its hash.', {
    example: `${SAMPLE_PREFIX}_${'x'.repeat(43)}`,
  })
  readonly secret!: string;

  static readonly of: ShownAs<IssuedApiKeyResponse> = shownAs(IssuedApiKeyResponse);
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

  static readonly of: ShownAs<MeResponse> = shownAs(MeResponse);
}
