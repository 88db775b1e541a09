import { hash as digest } from 'node:crypto';
import type { StoredEntry } from './stored-entry';

/** `previousHash` of the first entry. */
export const GENESIS_HASH = '0'.repeat(64);

/**
 * The version of the hashed forms of every new entry; entries of version 1 stay as they are. Both are frozen:
 * docs/adr/0003-hash-format.md.
 */
const HASH_VERSION = 2;

/** An entry before it takes its place in the chain. */
export type UnsealedEntry = Omit<
  StoredEntry,
  'v' | 'detailsHash' | 'auditHash' | 'stateHash' | 'previousHash' | 'hash' | 'erased'
>;

/** SHA-256 (FIPS 180-4) of the UTF-8 text, in lower-case hex. */
export function sha256(text: string): string {
  return digest('sha256', text, 'hex');
}

/**
 * Returns the RFC 8785 text of the erasable contents of an audit entry, with its salt. JSON.stringify writes strings,
 * integers and null as the scheme prescribes; `details` is canonical already.
 */
export function detailsText(
  entry: Pick<UnsealedEntry, 'details' | 'ip' | 'reason' | 'requestId' | 'detailsSalt'>,
): string {
  return (
    `{"details":${entry.details}` +
    `,"ip":${JSON.stringify(entry.ip)}` +
    `,"reason":${JSON.stringify(entry.reason)}` +
    `,"requestId":${JSON.stringify(entry.requestId)}` +
    `,"salt":${JSON.stringify(entry.detailsSalt)}}`
  );
}

/** Returns the RFC 8785 text of a state with its salt; `state` is canonical already. */
export function stateText(state: string, salt: string | null): string {
  return `{"salt":${JSON.stringify(salt)},"state":${state}}`;
}

/**
 * Returns the RFC 8785 text that `auditHash` covers: the audit entry, with `detailsHash` in place of the erasable
 * contents. In version 1 it has these contents themselves.
 */
export function auditText(entry: UnsealedEntry & Pick<StoredEntry, 'v' | 'detailsHash'>): string {
  const isFirst = entry.v === 1;
  return (
    `{"action":${JSON.stringify(entry.action)}` +
    `,"actor":{"id":${JSON.stringify(entry.actorId)},"type":${JSON.stringify(entry.actorType)}}` +
    `,"agentId":${JSON.stringify(entry.agentId)}` +
    (isFirst ? `,"details":${entry.details}` : `,"detailsHash":${JSON.stringify(entry.detailsHash)}`) +
    `,"entityId":${JSON.stringify(entry.entityId)}` +
    `,"id":${JSON.stringify(entry.auditId)}` +
    (isFirst ? `,"ip":${JSON.stringify(entry.ip)}` : '') +
    `,"outcome":${JSON.stringify(entry.outcome)}` +
    (isFirst ? `,"reason":${JSON.stringify(entry.reason)},"requestId":${JSON.stringify(entry.requestId)}` : '') +
    `,"sequence":${JSON.stringify(entry.sequence)}` +
    `,"subjectId":${JSON.stringify(entry.subjectId)}` +
    `,"subjectType":${JSON.stringify(entry.subjectType)}` +
    `,"timestamp":${JSON.stringify(entry.timestamp)}}`
  );
}

/** Returns the RFC 8785 text that `hash` covers. */
export function sealText(entry: Omit<StoredEntry, 'hash'>): string {
  return (
    `{"action":${JSON.stringify(entry.action)}` +
    `,"auditHash":${JSON.stringify(entry.auditHash)}` +
    `,"auditId":${JSON.stringify(entry.auditId)}` +
    `,"id":${JSON.stringify(entry.id)}` +
    `,"previousHash":${JSON.stringify(entry.previousHash)}` +
    `,"sequence":${JSON.stringify(entry.sequence)}` +
    `,"stateHash":${JSON.stringify(entry.stateHash)}` +
    `,"subjectId":${JSON.stringify(entry.subjectId)}` +
    `,"subjectType":${JSON.stringify(entry.subjectType)}` +
    `,"timestamp":${JSON.stringify(entry.timestamp)}` +
    `,"v":${JSON.stringify(entry.v)}}`
  );
}

/**
 * Seals an entry as the successor of the entry whose hash is `previousHash`. New members precede the copied ones: V8
 * takes microseconds to append them.
 */
export function seal(entry: UnsealedEntry, previousHash: string): StoredEntry {
  const sealed = {
    hash: '',
    v: HASH_VERSION,
    detailsHash: sha256(detailsText(entry)),
    auditHash: '',
    stateHash: entry.state === null ? null : sha256(stateText(entry.state, entry.stateSalt)),
    previousHash,
    erased: null,
    ...entry,
  };
  sealed.auditHash = sha256(auditText(sealed));
  sealed.hash = sha256(sealText(sealed));
  return sealed;
}

/** True if the hashes of the entry match its stored contents; of an erased entry, the contents that are left. */
export function hashesMatch(entry: StoredEntry): boolean {
  const { v, detailsHash, detailsSalt } = entry;
  if (entry.hash !== sha256(sealText(entry))) return false;
  const isErased = entry.erased !== null;
  if (isErased && !isEmptied(entry)) return false;
  const isFirst = v === 1;
  if (isFirst ? detailsHash !== null || detailsSalt !== null : v !== HASH_VERSION) return false;
  // Nothing is left to compute this hash from.
  if (isFirst && isErased) return true;
  if (entry.auditHash !== sha256(auditText(entry))) return false;
  if (isErased) return true;
  return (isFirst || detailsHash === sha256(detailsText(entry))) && entry.stateHash === sealedState(entry);
}

/**
 * Returns the `stateHash` of a state in the version of the entry. An altered row may hold anything; only text has a
 * hash.
 */
export function sealedState({
  v,
  state,
  stateSalt,
}: Readonly<Record<'v' | 'state' | 'stateSalt', unknown>>): string | null | undefined {
  if (state === null) return stateSalt === null ? null : undefined;
  if (typeof state !== 'string') return undefined;
  if (v === 1) return stateSalt === null ? sha256(state) : undefined;
  return typeof stateSalt === 'string' ? sha256(stateText(state, stateSalt)) : undefined;
}

/** True if everything that an erasure takes from an entry is gone. */
function isEmptied({ details, ip, reason, requestId, state, detailsSalt, stateSalt }: StoredEntry): boolean {
  return details === 'null' && [ip, reason, requestId, state, detailsSalt, stateSalt].every((left) => left === null);
}
