import { createHash, generateKeyPairSync } from 'node:crypto';
import type { Parsed } from '../support/application/send';
import { noteOf, ORIGIN, verifierKey } from '../verification/literal-notes';
import { canonical, canonicalHash, type Proof } from '../verification/recompute-chain';

/** A decision file whose every hash, proof and signature holds, whatever it says. */
export interface ForgedFile {
  readonly text: string;
  readonly publicKey: string;
}

/** Changes a decision file, and seals it anew in a log of its own, as whoever holds the service's key could. */
export function forge(
  text: string,
  change: (file: Parsed) => void,
  privateKey = generateKeyPairSync('ed25519').privateKey,
): ForgedFile {
  const file: Parsed = JSON.parse(text);
  change(file);
  sealRules(file, file.entries);
  for (const entry of file.entries) seal(entry);
  const size = file.entries.at(-1).sequence;
  const leaves = Array.from({ length: size }, (_, index): Pick<Proof, 'hash'> => {
    const own = file.entries.find(({ sequence }: Parsed) => sequence === index + 1);
    return { hash: own?.hash ?? canonicalHash({ index }) };
  });
  const proofs = proofsOf(leaves.map(({ hash }) => hash));
  for (const entry of file.entries) entry.proof = proofs(entry.sequence - 1);
  file.checkpoint = noteOf(leaves as Proof[], privateKey);
  return { text: canonical(file), publicKey: verifierKey(ORIGIN, privateKey) };
}

/** The entries of a file about one subject type, by action. */
export function entryOf(file: Parsed, action: string): Parsed {
  return file.entries.find((entry: Parsed) => entry.action === action);
}

/** The audit path of each leaf, by its index. */
export function proofsOf(hashes: readonly string[]): (index: number) => string[] {
  const leaves = hashes.map((hash) => Buffer.from(hash, 'hex'));
  const roots = new Map<string, string>();
  const rootAt = (from: number, to: number): string => {
    const root = roots.get(`${from} ${to}`) ?? rootOf(leaves.slice(from, to)).toString('hex');
    roots.set(`${from} ${to}`, root);
    return root;
  };
  return (index) => proofOf(index, 0, leaves.length, rootAt);
}

/** Gives the rules of a file, and the entries that name them, the hashes that its policies have now. */
export function sealRules(file: Parsed, entries: readonly Parsed[]): void {
  const contents = new Map<string, string>(file.policies.map((policy: Parsed) => [policy.id, canonicalHash(policy)]));
  for (const rules of file.rules) {
    const { hash, defaultEffect, evaluation, policies } = rules;
    const pairs = policies.map((id: string) => [id, contents.get(id)]);
    rules.hash = canonicalHash({ defaultEffect, evaluation, policies: pairs });
    for (const { state } of entries)
      if (state?.change?.rules === hash) state.change = { ...state.change, rules: rules.hash };
    for (const { audit } of entries) {
      if (rules.hash === hash || audit.details?.rules !== hash) continue;
      audit.details.rules = rules.hash;
      if (audit.details.policySet !== undefined) audit.details.policySet = canonicalHash(policies);
    }
  }
}

/** Gives an entry the hashes that its contents have now. */
export function seal(entry: Parsed): void {
  const { audit, timestamp, action } = entry;
  audit.timestamp = timestamp;
  const contents = entry.v === 1 ? contentsOfFirstVersion(entry) : contentsOf(entry);
  // What was erased had the hashes that it had.
  if (entry.erased !== undefined) Object.assign(contents, { stateHash: entry.stateHash });
  Object.assign(entry, contents);
  const { v, sequence, id, subjectType, subjectId, auditId, previousHash } = entry;
  const { auditHash, stateHash } = contents;
  const shared = { v, sequence, id, timestamp, action, subjectType, subjectId, auditId };
  entry.hash = canonicalHash({ ...shared, auditHash, stateHash, previousHash });
}

type ContentHashes = Readonly<Record<'detailsHash' | 'auditHash' | 'stateHash', string | null>>;

function contentsOf({ audit, state, salts, action }: Parsed): ContentHashes {
  const { details, ip, reason, requestId, ...auditMembers } = audit;
  const detailsHash = canonicalHash({ details, ip, reason, requestId, salt: salts.details });
  const stateHash = state === null ? null : canonicalHash({ salt: salts.state, state });
  return { detailsHash, auditHash: canonicalHash({ ...auditMembers, action, detailsHash }), stateHash };
}

function contentsOfFirstVersion({ audit, state }: Parsed): ContentHashes {
  return {
    detailsHash: null,
    auditHash: canonicalHash(audit),
    stateHash: state === null ? null : canonicalHash(state),
  };
}

/** RFC 6962, section 2.1.1, implemented literally. */
function proofOf(index: number, from: number, to: number, rootAt: (from: number, to: number) => string): string[] {
  if (to - from === 1) return [];
  const middle = from + 2 ** Math.ceil(Math.log2(to - from) - 1);
  return index < middle
    ? [...proofOf(index, from, middle, rootAt), rootAt(middle, to)]
    : [...proofOf(index, middle, to, rootAt), rootAt(from, middle)];
}

function rootOf(leaves: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0)] = leaves;
  if (leaves.length === 1) return digest(0, first);
  const middle = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return digest(1, rootOf(leaves.slice(0, middle)), rootOf(leaves.slice(middle)));
}

function digest(prefix: number, ...parts: readonly Buffer[]): Buffer {
  return createHash('sha256')
    .update(Buffer.concat([Buffer.of(prefix), ...parts]))
    .digest();
}
