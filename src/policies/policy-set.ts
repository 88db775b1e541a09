import { sha256 } from '../ledger/chain/hash-chain';

/**
 * Identifies the set of policies in force: the SHA-256 of the RFC 8785 array of their sorted ids. A policy is never
 * edited, so a decision can be checked against exactly the policies it was made by.
 */
export function policySetOf(ids: Iterable<string>): string {
  return sha256(JSON.stringify([...ids].sort()));
}
