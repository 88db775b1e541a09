import type { Identity } from '../../ledger/caller';

/** Knows who holds the keys that the service has issued. */
export abstract class IssuedKeys {
  /**
   * Whose key a secret is; null when it is nobody's, or has ended. At once, but for a key that another process may just have issued.
   * @param digest SHA-256 of the secret.
   */
  abstract holderOf(secret: string, digest: Buffer): Identity | null | Promise<Identity | null>;
}
