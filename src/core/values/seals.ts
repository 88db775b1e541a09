import { createHmac, createSecretKey, type KeyObject, scrypt, type ScryptOptions, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Length of keys and seals in bytes. */
export const SEAL_BYTES = 32;
/**
 * Each derivation takes a tenth of a second and 32 MiB: otherwise the holder of what is sealed with the key could try
 * millions of secrets a second.
 */
const COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);

/** Returns the key as an object, because Node.js 24 takes four times as long to seal with a key's bytes. */
type LazyKey = () => Promise<KeyObject>;

/**
 * A key for one purpose, the same in every process with this secret. It is derived on first use, as many processes
 * never need it, and then kept. A derivation that fails, as it may for lack of memory, is tried again at the next use.
 */
function derivedKey(secret: string, purpose: string): LazyKey {
  let key: Promise<KeyObject> | undefined;
  const forget = (error: unknown): never => {
    key = undefined;
    throw error;
  };
  return () => (key ??= derive(secret, purpose, SEAL_BYTES, COST).then(createSecretKey, forget));
}

/** Seals contents with HMAC-SHA256 under a key for one purpose, so that only this service can have made them. */
export class Seals {
  private readonly sealing: LazyKey;
  private readonly accepted: readonly LazyKey[];

  /** Seals by previous secrets are accepted as well. */
  constructor(purpose: string, secret: string, previousSecrets: readonly string[]) {
    this.sealing = derivedKey(secret, purpose);
    this.accepted = [this.sealing, ...previousSecrets.map((previous) => derivedKey(previous, purpose))];
  }

  async seal(content: Buffer): Promise<Buffer> {
    return sealBy(await this.sealing(), content);
  }

  async verify(seal: Buffer, content: Buffer): Promise<boolean> {
    if (seal.length !== SEAL_BYTES) return false;
    for (const key of this.accepted) if (timingSafeEqual(seal, sealBy(await key(), content))) return true;
    return false;
  }
}

/**
 * Derives names from contents with HMAC-SHA256 under a key for one purpose: nobody without the secret can test a guess.
 */
export class SecretDigests {
  private readonly derived: LazyKey;
  private key: KeyObject | undefined;

  constructor(purpose: string, secret: string) {
    this.derived = derivedKey(secret, purpose);
  }

  /** Derives the key; must be awaited before the first digest. */
  async prepare(): Promise<void> {
    this.key ??= await this.derived();
  }

  /** Returns equal digests for equal texts. @throws Error if the key was not prepared */
  digest(text: string): string {
    if (this.key === undefined) throw new Error('The key of these digests was not derived yet.');
    return createHmac('sha256', this.key).update(text).digest('base64url');
  }
}

function sealBy(key: KeyObject, content: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
