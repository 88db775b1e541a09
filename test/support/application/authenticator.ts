import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';

/** The origin and host of PUBLIC_URL in tests with passkeys. */
export const ORIGIN = 'https://governance.example';
export const RP_ID = 'governance.example';

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** Faults that a device may have. */
export interface Faults {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly flags?: number;
  /** Writes the signature in another way. */
  readonly respell?: (signature: Buffer) => Buffer;
}

/** User present, user verified. */
const FLAGS = 0x05;
const ATTESTED = 0x40;

/** A device with one passkey. */
export class SoftwareAuthenticator {
  readonly credentialId = randomBytes(16);
  private readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

  /** @param twin a device with the same key pair */
  constructor(
    private readonly algorithm: Algorithm = 'ES256',
    twin?: SoftwareAuthenticator,
  ) {
    this.keys =
      twin !== undefined
        ? twin.keys
        : algorithm === 'ES256'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : algorithm === 'EdDSA'
            ? generateKeyPairSync('ed25519')
            : generateKeyPairSync('rsa', { modulusLength: 2048 });
  }

  get id(): string {
    return this.credentialId.toString('base64url');
  }

  /** In base64url, DER of a SubjectPublicKeyInfo. */
  get publicKey(): string {
    return this.keys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64url');
  }

  /** A RegistrationResponseJSON. */
  create(challenge: string, { flags = FLAGS | ATTESTED, ...faults }: Faults = {}): object {
    const client = clientData(challenge, { type: 'webauthn.create', ...faults });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.credentialId, this.coseKey()]);
    const authData = Buffer.concat([authenticatorData(flags, faults), attested]);
    const attestation = cbor({ fmt: 'none', attStmt: {}, authData });
    const response = {
      clientDataJSON: client.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    };
    return { ...this.identity(), response };
  }

  /** An AuthenticationResponseJSON for what is signed. */
  sign(signed: object, faults: Faults = {}): object {
    const hash = createHash('sha256').update(canonicalize(signed)).digest('base64url');
    const client = clientData(hash, { type: 'webauthn.get', ...faults });
    const data = authenticatorData(faults.flags ?? FLAGS, faults);
    const bytes = Buffer.concat([data, createHash('sha256').update(client).digest()]);
    const made = sign(this.algorithm === 'EdDSA' ? null : 'sha256', bytes, this.keys.privateKey);
    const signature = faults.respell?.(made) ?? made;
    const response = {
      authenticatorData: data.toString('base64url'),
      clientDataJSON: client.toString('base64url'),
      signature: signature.toString('base64url'),
    };
    return { ...this.identity(), response };
  }

  private identity(): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {} };
  }

  private coseKey(): Buffer {
    const jwk = this.keys.publicKey.export({ format: 'jwk' });
    const bytes = (text = ''): Buffer => Buffer.from(text, 'base64url');
    const members = {
      ES256: [
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(jwk.x)],
        [-3, bytes(jwk.y)],
      ],
      EdDSA: [
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes(jwk.x)],
      ],
      RS256: [
        [1, 3],
        [3, -257],
        [-1, bytes(jwk.n)],
        [-2, bytes(jwk.e)],
      ],
    } as const;
    return cbor(new Map<number, number | Buffer>(members[this.algorithm]));
  }
}

function clientData(challenge: string, { type, origin = ORIGIN }: Faults): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

function authenticatorData(flags: number, { rpId = RP_ID }: Faults): Buffer {
  const counter = Buffer.alloc(4);
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter]);
}

/** The few forms of CBOR (RFC 8949) that WebAuthn needs. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const members = value instanceof Map ? [...value] : Object.entries(value as object);
  return Buffer.concat([head(5, members.length), ...members.flat().map(cbor)]);
}

function head(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  if (length < 256) return Buffer.from([type | 24, length]);
  return Buffer.from([type | 25, length >> 8, length & 0xff]);
}
