import { ApiProperty } from '@nestjs/swagger';
import type { JsonObject } from '../../../core/json/json-value';
import { ListQuery } from '../../../http/lists/list.query';
import { ApiMember } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { RequiredText } from '../../../http/validation/fields';
import type { Passkey } from '../passkey.entity';
import { CredentialField, SignatureField } from './passkey.fields';

export class RegisterPasskeyRequest {
  @CredentialField()
  readonly credential!: JsonObject;

  @RequiredText({ max: 100, description: 'What the person calls it.', example: 'Phone' })
  readonly name!: string;

  @SignatureField(
    '`{agentId, credentialId, verdict: "register"}`, by a passkey that the person has; required where there is one',
  )
  readonly signature?: JsonObject;
}

export class RemovePasskeyRequest {
  @SignatureField('`{agentId, passkeyId, verdict: "remove"}`; required of the person')
  readonly signature?: JsonObject;
}

export class PasskeyListQuery extends ListQuery {}

export class PasskeyResponse {
  @ApiProperty({ example: sampleId('psk') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('agt', 2) })
  readonly agentId!: string;

  @ApiProperty({ example: 'Phone' })
  readonly name!: string;

  @ApiMember('As its authenticator calls it, in base64url.', { example: 'AAAA' })
  readonly credentialId!: string;

  @ApiMember('SubjectPublicKeyInfo in base64url: ES256, EdDSA or RS256.', { example: 'MFkw' })
  readonly publicKey!: string;

  @ApiMember('The host that it was made for: that of `PUBLIC_URL` then.', { example: 'governance.example.com' })
  readonly rpId!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, passkey: Passkey): PasskeyResponse {
    const { id, agentId, name, credentialId, publicKey, rpId, createdAt } = passkey;
    return { id, agentId, name, credentialId, publicKey, rpId, createdAt };
  }
}
