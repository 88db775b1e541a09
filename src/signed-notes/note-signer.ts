import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { formatNote, keyIdOf } from './signed-note';
import { rawPublicKey, verifierKeyText, type VerifierKey } from './verifier-key';

/** DER encoding of an Ed25519 private key up to the 32 bytes of the seed: RFC 8410, section 7. */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** The 32-byte seed in standard base64, as `openssl rand -base64 32` prints it; undefined if the text is not one. */
export function parseSeed(text: string): Buffer | undefined {
  const seed = Buffer.from(text, 'base64');
  return seed.length === SEED_BYTES && seed.toString('base64') === text ? seed : undefined;
}

/** Signs notes under one name with one Ed25519 key (RFC 8032). */
export class NoteSigner {
  readonly verifierKey: VerifierKey;
  private readonly privateKey: KeyObject;

  /** @param seed 32 bytes, never to be shown. */
  constructor(
    readonly name: string,
    seed: Buffer,
  ) {
    const der = Buffer.concat([PRIVATE_KEY_PREFIX, seed]);
    this.privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(this.privateKey);
    this.verifierKey = { name, keyId: keyIdOf(name, rawPublicKey(publicKey)), publicKey };
  }

  /** The public key in the form in which verifiers store it. */
  get publicKey(): string {
    return verifierKeyText(this.verifierKey);
  }

  /** Deterministic: nothing in an Ed25519 signature is random. */
  sign(text: string): string {
    const { name, keyId } = this.verifierKey;
    const signature = sign(null, Buffer.from(text, 'utf8'), this.privateKey);
    return formatNote({ text, signatures: [{ name, keyId, signature }] });
  }
}
