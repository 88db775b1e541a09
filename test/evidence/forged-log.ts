import { generateKeyPairSync } from 'node:crypto';
import type { Parsed } from '../support/application/send';
import { noteOf, ORIGIN, verifierKey } from '../verification/literal-notes';
import { canonical } from '../verification/recompute-chain';
import { proofsOf, seal, sealRules } from './forged-file';

/** A log and a decision file of it, in which every hash, proof and signature holds, whatever they say. */
export interface ForgedLog {
  readonly text: string;
  readonly log: string;
  readonly publicKey: string;
}

/**
 * Changes all entries of an export, and seals them anew as the holder of the service's key could. The file gets the entries that it
 * had, and those that `change` adds to `ids`.
 */
export function forgeLog(
  { text, log }: { readonly text: string; readonly log: string },
  change: (entries: Parsed[], ids: Set<string>) => Parsed[],
): ForgedLog {
  const file: Parsed = JSON.parse(text);
  const ids = new Set<string>(file.entries.map(({ id }: Parsed) => id));
  const read: Parsed[] = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const entries = change(
    read.filter(({ audit }) => audit !== undefined),
    ids,
  );
  sealRules(file, entries);
  let previousHash = '0'.repeat(64);
  for (const [index, entry] of entries.entries()) {
    entry.sequence = entry.audit.sequence = index + 1;
    entry.previousHash = previousHash;
    seal(entry);
    previousHash = entry.hash;
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const proofs = proofsOf(entries.map(({ hash }) => hash));
  file.entries = entries
    .filter(({ id }) => ids.has(id))
    .map((entry) => ({ ...entry, proof: proofs(entry.sequence - 1) }));
  file.checkpoint = noteOf(entries as never, privateKey);
  const lines = [...entries, { end: { sequence: entries.length, hash: previousHash } }];
  return {
    text: canonical(file),
    log: `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
    publicKey: verifierKey(ORIGIN, privateKey),
  };
}
