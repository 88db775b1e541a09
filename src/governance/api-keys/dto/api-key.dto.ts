import { ApiProperty, OmitType } from '@nestjs/swagger';
import { normaliseAgentName } from '../../agents/agent-name';
import { QueryAgent } from '../../agents/dto/agent.dto';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { WholeRequest } from '../../../http/validation/dto';
import { DistinctStrings, ExpiryField, OptionalText, REMARK, RequiredText } from '../../../http/validation/fields';
import { oneOfFault } from '../../../http/validation/shapes';
import { QueryOneOf } from '../../../http/validation/query-fields';
import { type Scope, SCOPES } from '../../../ledger/caller';
import { LONGEST_PRINCIPAL, principalPatternFault } from '../../policies/patterns/principals';
import { ListQuery } from '../../../http/lists/list.query';
import { API_KEY_STATUSES, ApiKey, type ApiKeyStatus, SAMPLE_PREFIX } from '../api-key.entity';
import {
  ApiMember,
  ApiNullableText,
  ApiNullableTime,
  type ResponseMapper,
  responseMapper,
} from '../../../http/openapi/response-members';
import { ActorResponse } from '../../../http/authentication/actor.response';

@WholeRequest(({ scopes, agentId, principals }) => [
  ...(agentId !== undefined && Array.isArray(scopes) && scopes.includes('admin')
    ? [
        {
          field: 'agentId',
          message:
            'must be left out if the scopes include admin: a key that acts as one agent cannot administer others',
        },
      ]
    : []),
  ...(agentId === undefined && Array.isArray(principals) && principals.length > 0
    ? [{ field: 'principals', message: 'goes with agentId: a key that is bound to no agent may name anybody' }]
    : []),
])
export class CreateApiKeyRequest {
  @RequiredText({
    max: 100,
    description: 'For people: who holds the key, or what it is for.',
    example: 'reminder-bot in production',
  })
  readonly name!: string;

  @DistinctStrings({
    minItems: 1,
    maxItems: SCOPES.length,
    item: { max: 20, rule: (text) => oneOfFault(text, SCOPES) },
    description: `What its holder may do: ${SCOPES.map((scope) => `\`${scope}\``).join(', ')}. \`admin\` includes all of them.`,
    example: ['execute', 'propose'],
  })
  readonly scopes!: Scope[];

  @OptionalText({
    max: 500,
    normalise: normaliseAgentName,
    description: 'Id or name of the only agent that the holder may act as. Default: the key is not bound to an agent.',
    example: 'reminder-bot',
  })
  readonly agentId?: string;

  @DistinctStrings({
    optional: true,
    maxItems: 100,
    item: { max: LONGEST_PRINCIPAL, rule: principalPatternFault },
    default: [],
    description:
      'For a bound key: on whose behalf its holder may act. `*`, `agent:<id or name>`, `agent:*`, `<type>:<id>`, `<type>:*`, and ' +
      '`role:<name>`: people registered with that role, and the roles that it may say others have.',
    example: ['user:*'],
  })
  readonly principals?: string[];

  @ExpiryField({
    description:
      'From this time on the key is refused. It must be in the future, at most ten years ahead, and have a zone. ' +
      'Default: it does not expire.',
  })
  readonly expiresAt?: string;
}

export class RevokeApiKeyRequest {
  @OptionalText({ ...REMARK, description: 'Why; it is recorded.', example: 'It was left in a public repository.' })
  readonly reason?: string;
}

export class ApiKeyListQuery extends ListQuery {
  @QueryOneOf(API_KEY_STATUSES, { enumName: 'ApiKeyStatus', description: 'Only keys with this status.' })
  readonly status?: ApiKeyStatus;

  @QueryAgent('Only keys that are bound to the agent with this id or name.')
  readonly agentId?: string;
}

export class ApiKeyResponse extends OmitType(ApiKey, ['createdSequence', 'secretHash'] as const) {
  static readonly from: ResponseMapper<ApiKeyResponse> = responseMapper(ApiKeyResponse);
}

export class IssuedApiKeyResponse extends ApiKeyResponse {
  @ApiMember('The key itself. It is returned only in this answer: the service stores nothing but its hash.', {
    example: `${SAMPLE_PREFIX}_${'x'.repeat(43)}`,
  })
  readonly secret!: string;

  static readonly of: ResponseMapper<IssuedApiKeyResponse> = responseMapper(IssuedApiKeyResponse);
}

export class MeResponse {
  @ApiMember('The actor that audit entries of your requests name.', { type: ActorResponse })
  readonly actor!: ActorResponse;

  @ApiNullableText('The agent to which it is bound; null: none.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  @ApiNullableTime('Null: never.')
  readonly expiresAt!: string | null;

  static readonly of: ResponseMapper<MeResponse> = responseMapper(MeResponse);
}
