import type { Identity } from '../../ledger/caller';

/** Knows the holders of tokens from trusted issuers. */
export abstract class IssuedTokens {
  /**
   * Whether the signature has been verified before: then checking the token again costs next to nothing.
   * @param digest SHA-256.
   */
  abstract isVerified(digest: Buffer): boolean;

  /** The holder of a token; null if it is not valid here. @throws UNAVAILABLE if its issuer has never been reached. */
  abstract holderOf(token: string, digest: Buffer): Promise<Identity | null>;
}
