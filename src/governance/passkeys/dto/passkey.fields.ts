import type { JsonObject } from '../../../core/json/json-value';
import { FreeFormObject } from '../../../http/validation/fields';
import type { FaultInside } from '../../../http/validation/value-rules';

const MOST_BYTES = 8 * 1024;

function sizeFaults(value: JsonObject): readonly FaultInside[] {
  const isTooLarge = Buffer.byteLength(JSON.stringify(value)) > MOST_BYTES;
  return isTooLarge ? [{ at: '', message: `must have at most ${MOST_BYTES} bytes` }] : [];
}

/** What a browser made for a new passkey. */
export function CredentialField(): PropertyDecorator {
  const description = 'RegistrationResponseJSON of WebAuthn, made by the options: at most 8 KiB.';
  return FreeFormObject({ description, rule: sizeFaults, example: { id: 'AAAA', type: 'public-key' } });
}

/** What a browser signed with a passkey. */
export function SignatureField(signed: string): PropertyDecorator {
  const description = `AuthenticationResponseJSON of WebAuthn, at most 8 KiB. Its challenge is the SHA-256 of the RFC 8785 form of ${signed}.`;
  return FreeFormObject({ optional: true, description, rule: sizeFaults });
}
