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
 * Changes all entries of an export, and seals them anew as the holder of the service's key could. The file gets the
 * entries that it had, and those that `change` adds to `ids`.
 */
export function forgeLog(
  { text, log }: { readonly text: string; readonly log: string },
  change: (entries: Parsed[], ids: Set<string>) => Parsed[],
): ForgedLog {
  const file: Parsed = JSON.parse(text);
  const ids = new Set<string>(file.entries.map(({ id }: Parsed) => id));
  const entries = change(entriesOf(log), ids);
  sealRules(file, entries);
  sealEntries(entries);
  const { privateKey } = generateKeyPairSync('ed25519');
  const proofs = proofsOf(entries.map(({ hash }) => hash));
  file.entries = entries
    .filter(({ id }) => ids.has(id))
    .map((entry) => ({ ...entry, proof: proofs(entry.sequence - 1) }));
  file.checkpoint = noteOf(entries as never, privateKey);
  return { text: canonical(file), log: exportOf(entries), publicKey: verifierKey(ORIGIN, privateKey) };
}

/** The entries of an export, without its end. */
export function entriesOf(log: string): Parsed[] {
  const lines: Parsed[] = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return lines.filter(({ audit }) => audit !== undefined);
}

/** Numbers and seals entries anew. Erased entries name the same entries as before. */
export function sealEntries(entries: readonly Parsed[]): void {
  const sequences = new Map<number, number>(entries.map(({ sequence }, index) => [sequence, index + 1]));
  let previousHash = '0'.repeat(64);
  for (const [index, entry] of entries.entries()) {
    entry.sequence = entry.audit.sequence = index + 1;
    if (entry.erased !== undefined) entry.erased = sequences.get(entry.erased) ?? entries.length + 1;
    entry.previousHash = previousHash;
    seal(entry);
    previousHash = entry.hash;
  }
}

/** The text of an export of sealed entries. */
export function exportOf(entries: readonly Parsed[]): string {
  const { sequence, hash } = entries.at(-1) ?? {};
  return [...entries, { end: { sequence, hash } }].map((line) => `${JSON.stringify(line)}\n`).join('');
}
