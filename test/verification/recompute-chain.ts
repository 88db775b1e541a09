import { createHash } from 'node:crypto';
import type { TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';

/** An entry of the chain as GET /provenance/:sequence returns it. */
export interface Proof {
  readonly sequence: number;
  readonly action: string;
  readonly subjectType: string;
  readonly subjectId: string;
  readonly v: number;
  readonly audit: Readonly<Record<string, unknown>>;
  readonly state: object | null;
  readonly salts: { readonly details: string | null; readonly state: string | null } | null;
  readonly detailsHash: string | null;
  readonly auditHash: string;
  readonly stateHash: string | null;
  readonly previousHash: string;
  readonly hash: string;
}

/** Reads the whole chain with GETs and recomputes every hash, as anyone could; returns the differences. */
export async function recomputeChain(app: TestApp): Promise<{ proofs: Proof[]; faults: string[] }> {
  const proofs: Proof[] = [];
  const faults: string[] = [];
  let previousHash = '0'.repeat(64);
  for (let after = 0, more = true; more; after += 1000) {
    const { data, total } = (await send(app, 'GET', `/api/v1/provenance?after=${after}&limit=1000`)).body;
    for (const listed of data) {
      const proof: Proof = (await send(app, 'GET', `/api/v1/provenance/${listed.sequence}`)).body;
      faults.push(...faultsOf(proof, listed, previousHash, proofs.length + 1));
      proofs.push(proof);
      previousHash = proof.hash;
    }
    more = total > 1000;
  }
  return { proofs, faults };
}

/** The hashes that the contents of an entry have, in either version of the sealed form. */
export function hashesOf({
  audit,
  state,
  salts,
  ...entry
}: Pick<Proof, 'v' | 'audit' | 'state' | 'salts'>): Readonly<
  Record<'detailsHash' | 'auditHash' | 'stateHash' | 'hash', string | null>
> {
  const sealed = Object.fromEntries(
    Object.entries(entry).filter(([name]) => !['hash', 'detailsHash', 'erased'].includes(name)),
  );
  const hash = canonicalHash(sealed);
  if (entry.v === 1) {
    const stateHash = state === null ? null : canonicalHash(state);
    return { detailsHash: null, auditHash: canonicalHash(audit), stateHash, hash };
  }
  const { details, ip, reason, requestId, ...rest } = audit;
  const detailsHash = canonicalHash({ details, ip, reason, requestId, salt: salts?.details ?? null });
  const stateHash = state === null ? null : canonicalHash({ salt: salts?.state ?? null, state });
  return { detailsHash, auditHash: canonicalHash({ ...rest, detailsHash }), stateHash, hash };
}

/** The SHA-256 of the RFC 8785 text of a value, in hex. */
export function canonicalHash(value: object): string {
  return createHash('sha256').update(canonical(value), 'utf8').digest('hex');
}

/** The obvious implementation: scalars by JSON.stringify, members sorted by code units. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

function faultsOf(proof: Proof, listed: object, previousHash: string, sequence: number): string[] {
  const { audit: _audit, state: _state, salts: _salts, ...entry } = proof;
  const expectedHashes = hashesOf(proof);
  const agreements: [what: string, actual: unknown, expected: unknown][] = [
    ['sequence', proof.sequence, sequence],
    ['previousHash', proof.previousHash, previousHash],
    ['detailsHash', proof.detailsHash, expectedHashes.detailsHash],
    ['auditHash', proof.auditHash, expectedHashes.auditHash],
    ['stateHash', proof.stateHash, expectedHashes.stateHash],
    ['hash', proof.hash, expectedHashes.hash],
    ['the list', canonicalHash(listed), canonicalHash(entry)],
  ];
  return agreements.flatMap(([what, actual, expected]) =>
    actual === expected ? [] : [`${what} of ${sequence}: ${String(actual)} instead of ${String(expected)}`],
  );
}
