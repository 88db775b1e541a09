import type { Identity } from '../../ledger/caller';

/** Knows who holds the tokens of others that the service takes. */
export abstract class IssuedTokens {
  /** Whether the signature has been verified before: to look at it again costs next to nothing. @param digest SHA-256. */
  abstract isVerified(digest: Buffer): boolean;

  /** Whose token it is; null when it is none that is good here. @throws UNAVAILABLE where its issuer was never reached. */
  abstract holderOf(token: string, digest: Buffer): Promise<Identity | null>;
}
