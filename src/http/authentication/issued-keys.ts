import type { Identity } from '../../ledger/caller';

/** Knows the holders of the keys that the service has issued. */
export abstract class IssuedKeys {
  /**
   * The holder of a secret; null if it is unknown, or no longer valid. Synchronous, except for a key that another
   * process may just have issued.
   * @param digest SHA-256 of the secret.
   */
  abstract holderOf(secret: string, digest: Buffer): Identity | null | Promise<Identity | null>;
}
