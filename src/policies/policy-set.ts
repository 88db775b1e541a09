import { sha256 } from '../ledger/chain/hash-chain';

/**
 * Names the set of policies in force: the SHA-256 of the RFC 8785 array of their sorted ids. A policy is never edited, so
 * what was decided can be held against exactly the policies it was decided by.
 */
export function policySetOf(ids: Iterable<string>): string {
  return sha256(JSON.stringify([...ids].sort()));
}
