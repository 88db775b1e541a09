import { OmitType } from '@nestjs/swagger';
import type { JsonObject } from '../../../core/json/json-value';
import { ListQuery } from '../../../http/lists/list.query';
import { type ShownAs, shownAs } from '../../../http/openapi/answer-members';
import { RequiredText } from '../../../http/validation/fields';
import { Passkey } from '../passkey.entity';
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

export class PasskeyResponse extends OmitType(Passkey, ['createdSequence'] as const) {
  static readonly from: ShownAs<PasskeyResponse> = shownAs(PasskeyResponse);
}
