import { ApiProperty, OmitType } from '@nestjs/swagger';
import type { FieldFault } from '../../../core/errors/domain-error';
import { normaliseAgentName } from '../../agents/agent-name';
import { QueryAgent } from '../../agents/dto/agent.dto';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { WholeRequest } from '../../../http/validation/dto';
import { DistinctStrings, ExpiryField, OptionalText, REMARK, RequiredText } from '../../../http/validation/fields';
import { oneOfFault } from '../../../http/validation/shapes';
import { QueryOneOf } from '../../../http/validation/query-fields';
import { TEAM, TEAM_SCOPES } from '../../agents/team';
import { type Caller, IMPLIED_SCOPES, isLoneScope, type Scope, SCOPES } from '../../../ledger/kinds/caller';
import { MAX_PRINCIPAL_CHARACTERS, principalPatternFault } from '../../policies/patterns/principals';
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

/** Faults of a key that has other scopes in addition to a lone scope. */
function loneScopeFaults(scopes: unknown, agentId: unknown): FieldFault[] {
  const listed = Array.isArray(scopes) ? scopes : [];
  const lone = SCOPES.find((scope) => isLoneScope(scope) && listed.includes(scope));
  if (lone === undefined) return [];
  return [
    ...(listed.length > 1
      ? [{ field: 'scopes', message: `must have ${lone} alone: it goes with no other scope` }]
      : []),
    ...(agentId === undefined || agentId === null
      ? []
      : [{ field: 'agentId', message: `must be left out with the scope ${lone}: such a key is bound to nobody` }]),
  ];
}

/** Faults of a team's key that is bound to an agent, or has scopes that no team has. */
function teamFaults(team: unknown, scopes: unknown, agentId: unknown): FieldFault[] {
  if (typeof team !== 'string') return [];
  const others = (Array.isArray(scopes) ? scopes : []).filter((scope) => !TEAM_SCOPES.includes(scope as Scope));
  return [
    ...(agentId === undefined || agentId === null
      ? []
      : [{ field: 'agentId', message: 'must be left out: a key with a team is bound to nobody' }]),
    ...(others.length === 0
      ? []
      : [{ field: 'scopes', message: `must be among ${TEAM_SCOPES.join(', ')}, as the key has a team` }]),
  ];
}

@WholeRequest(({ scopes, agentId, principals, team }) => [
  ...(agentId !== undefined && Array.isArray(scopes) && scopes.includes('admin')
    ? [
        {
          field: 'agentId',
          message:
            'must be left out if the scopes include admin: a key that acts as one agent cannot administer others',
        },
      ]
    : []),
  ...loneScopeFaults(scopes, agentId),
  ...teamFaults(team, scopes, agentId),
  ...(agentId === undefined && typeof team !== 'string' && Array.isArray(principals) && principals.length > 0
    ? [{ field: 'principals', message: 'goes with agentId or team: any other key may name anybody' }]
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
    maxItems: IMPLIED_SCOPES.length,
    item: { max: 20, rule: (text) => oneOfFault(text, SCOPES) },
    description: `What its holder may do: ${SCOPES.map((scope) => `\`${scope}\``).join(', ')}. \`admin\` includes all of them except \`report\`, which is for gateways and alone in its key.`,
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
    item: { max: MAX_PRINCIPAL_CHARACTERS, rule: principalPatternFault },
    default: [],
    description:
      'For a bound key, or one with a team: on whose behalf its holder may act. `*`, `agent:<id or name>`, `agent:*`, `<type>:<id>`, `<type>:*`, and ' +
      '`role:<name>`: people registered with that role, and the roles that it may say others have.',
    example: ['user:*'],
  })
  readonly principals?: string[];

  @OptionalText({
    ...TEAM,
    description:
      'The team whose agents and policies alone it writes, and whose records it reads. Such a key is bound to nobody, with scopes ' +
      'among `read`, `agents`, `policies` and `execute`. Default: none, so that it is for the whole house.',
  })
  readonly team?: string | null;

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

  @ApiMember(
    'With `team`: the policies in force of no team that a policy of the team can override, as their priority is below `TEAM_PRIORITY`.',
    { type: [String], required: false },
  )
  readonly warnings?: readonly string[];

  static readonly withSecret: ResponseMapper<IssuedApiKeyResponse> = responseMapper(IssuedApiKeyResponse);
}

export class MeResponse {
  @ApiMember('The actor that audit entries of your requests name.', { type: ActorResponse })
  readonly actor!: ActorResponse;

  @ApiNullableText('The agent to which it is bound; null: none.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiNullableText('The team of the key; null: it is of none.')
  readonly team!: string | null;

  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  @ApiNullableTime('Null: never.')
  readonly expiresAt!: string | null;

  static from(this: void, { actor, agentId, team, scopes, expiresAt }: Caller): MeResponse {
    return { actor, agentId, team: team ?? null, scopes, expiresAt };
  }
}
