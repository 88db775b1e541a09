import { sampleId } from '../../openapi/sample-id';
import { WholeRequest } from '../../http/validation/dto-shape';
import { ExpiryField } from '../../http/validation/expiry-field';
import { DistinctStrings, OptionalText, RequiredText } from '../../http/validation/text-fields';
import { type Scope, SCOPES } from '../../ledger/caller';

@WholeRequest(({ scopes, agentId }) =>
  agentId !== undefined && Array.isArray(scopes) && scopes.includes('admin')
    ? [
        {
          field: 'agentId',
          message: 'must be left out where the scopes have admin: who acts as one agent rules no others',
        },
      ]
    : [],
)
export class CreateApiKeyRequest {
  @RequiredText({
    max: 100,
    description: 'For people: whose key it is, or what it is for.',
    example: 'reminder-bot in production',
  })
  readonly name!: string;

  @DistinctStrings({
    minItems: 1,
    maxItems: SCOPES.length,
    item: { max: 20, rule: scopeFault },
    description: `What its holder may do: ${SCOPES.map((scope) => `\`${scope}\``).join(', ')}. \`admin\` is all of them.`,
    example: ['execute', 'propose'],
  })
  readonly scopes!: Scope[];

  @OptionalText({
    max: 500,
    description:
      'Id or name of the agent that the holder acts as, and as no other. Without it the key is bound to none.',
    example: sampleId('agt'),
  })
  readonly agentId?: string;

  @ExpiryField({
    description: 'From this moment on the key opens nothing. Ahead, at most ten years; with a zone. Without it: never.',
  })
  readonly expiresAt?: string;
}

function scopeFault(text: string): string | undefined {
  return SCOPES.some((scope) => scope === text) ? undefined : `must be one of ${SCOPES.join(', ')}`;
}
