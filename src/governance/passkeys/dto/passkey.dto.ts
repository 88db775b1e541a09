import { OmitType } from '@nestjs/swagger';
import type { JsonObject } from '../../../core/json/json-value';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';
import { FreeFormObject, RequiredText } from '../../../http/validation/fields';
import { Passkey } from '../passkey.entity';
import type { FaultInside } from '../../../http/validation/shapes';

export class RegisterPasskeyRequest {
  @CredentialField()
  readonly credential!: JsonObject;

  @RequiredText({ max: 100, description: 'What the person calls it.', example: 'Phone' })
  readonly name!: string;

  @SignatureField(
    '`{agentId, credentialId, verdict: "register"}`, signed with a passkey that the person has; required if there is one',
  )
  readonly signature?: JsonObject;
}

export class RemovePasskeyRequest {
  @SignatureField('`{agentId, passkeyId, verdict: "remove"}`; required if the person removes it')
  readonly signature?: JsonObject;
}

export class PasskeyResponse extends OmitType(Passkey, ['createdSequence'] as const) {
  static readonly from: ResponseMapper<PasskeyResponse> = responseMapper(PasskeyResponse);
}

const MAX_BYTES = 8 * 1024;

function sizeFaults(value: JsonObject): readonly FaultInside[] {
  const isTooLarge = Buffer.byteLength(JSON.stringify(value)) > MAX_BYTES;
  return isTooLarge ? [{ at: '', message: `must have at most ${MAX_BYTES} bytes` }] : [];
}

/** Response of a browser that made a new passkey. */
function CredentialField(): PropertyDecorator {
  const description = 'RegistrationResponseJSON of WebAuthn, created with these options; at most 8 KiB.';
  return FreeFormObject({ description, rule: sizeFaults, example: { id: 'AAAA', type: 'public-key' } });
}

/** Response of a browser that signed with a passkey. */
export function SignatureField(signed: string): PropertyDecorator {
  const description = `AuthenticationResponseJSON of WebAuthn, at most 8 KiB. Its challenge is the SHA-256 of the RFC 8785 form of ${signed}.`;
  return FreeFormObject({ optional: true, description, rule: sizeFaults });
}
