import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { formatNote, keyIdOf } from './signed-note';
import { rawPublicKey, verifierKeyText, type VerifierKey } from './verifier-key';

/** DER of an Ed25519 private key up to the 32 bytes of the seed: RFC 8410, section 7. */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** The 32-byte seed in standard base64, such as `openssl rand -base64 32` makes it; undefined when the text is none. */
export function parseSeed(text: string): Buffer | undefined {
  const seed = Buffer.from(text, 'base64');
  return seed.length === SEED_BYTES && seed.toString('base64') === text ? seed : undefined;
}

/** Signs notes under one name with one Ed25519 key (RFC 8032). */
export class NoteSigner {
  readonly verifierKey: VerifierKey;
  private readonly privateKey: KeyObject;

  /** @param seed 32 bytes, to be shown nowhere. */
  constructor(
    readonly name: string,
    seed: Buffer,
  ) {
    const der = Buffer.concat([PRIVATE_KEY_PREFIX, seed]);
    this.privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(this.privateKey);
    this.verifierKey = { name, keyId: keyIdOf(name, rawPublicKey(publicKey)), publicKey };
  }

  /** The public key, as those keep it who check the notes. */
  get publicKey(): string {
    return verifierKeyText(this.verifierKey);
  }

  /** The same note for the same text: nothing in an Ed25519 signature is random. */
  sign(text: string): string {
    const { name, keyId } = this.verifierKey;
    const signature = sign(null, Buffer.from(text, 'utf8'), this.privateKey);
    return formatNote({ text, signatures: [{ name, keyId, signature }] });
  }
}
