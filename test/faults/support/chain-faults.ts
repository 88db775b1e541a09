import { hashesOf } from '../../verification/recompute-chain';
import type { Snapshot, SnapshotEntry } from './snapshot';

/**
 * Checks that the chain is contiguous, each entry has one audit entry and one seal, and every hash matches what it
 * seals.
 */
export function chainFaults({ entries, verification, stats, faults }: Snapshot): string[] {
  const allFaults = [...faults];
  let previousHash = '0'.repeat(64);
  entries.forEach((entry, index) => {
    allFaults.push(...entryFaults(entry, index + 1, previousHash));
    previousHash = entry.row.hash;
  });
  const auditIds = new Set(entries.map(({ audit }) => audit?.id));
  if (auditIds.size !== entries.length) allFaults.push('an audit entry is there twice');
  if (!isSound(verification, entries.length, previousHash)) allFaults.push(`verify: ${JSON.stringify(verification)}`);
  if (stats.provenanceEntries !== entries.length)
    allFaults.push(`stats: ${stats.provenanceEntries} provenance entries`);
  return allFaults;
}

function entryFaults(
  { audit, provenance, row, state, salts }: SnapshotEntry,
  sequence: number,
  previousHash: string,
): string[] {
  if (audit === undefined || provenance === undefined) return [`entry ${sequence}: no audit entry or no seal`];
  const hashes = hashesOf({ ...provenance, audit, state, salts });
  const agreements: readonly (readonly [what: string, actual: unknown, expected: unknown])[] = [
    ['sequence', provenance.sequence, sequence],
    ['sequence of its audit entry', audit.sequence, sequence],
    ['sequence of its row', row.sequence, sequence],
    ['auditId', provenance.auditId, audit.id],
    ['subject', provenance.subjectId, audit.subjectId],
    ['previousHash', provenance.previousHash, previousHash],
    ['detailsHash', provenance.detailsHash, hashes.detailsHash],
    ['auditHash', provenance.auditHash, hashes.auditHash],
    ['stateHash', provenance.stateHash, hashes.stateHash],
    ['hash', provenance.hash, hashes.hash],
    ['hash of its row', row.hash, provenance.hash],
  ];
  return agreements.flatMap(([what, actual, expected]) =>
    actual === expected ? [] : [`entry ${sequence}: ${what} is ${String(actual)} instead of ${String(expected)}`],
  );
}

function isSound(verification: Snapshot['verification'], length: number, hash: string): boolean {
  const { valid, entriesVerified, brokenLinks, invalidHashes, head, tree, checkpoint } = verification;
  const isExtended = checkpoint === undefined || (checkpoint.extended && checkpoint.signature === 'valid');
  if (!isExtended || !tree.matches) return false;
  const isWhole = entriesVerified === length && head?.sequence === length;
  return valid === true && isWhole && brokenLinks === 0 && invalidHashes === 0 && (length === 0 || head.hash === hash);
}
