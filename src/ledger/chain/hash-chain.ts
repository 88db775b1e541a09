import { hash as digest } from 'node:crypto';

/** `previousHash` of the first entry. */
export const GENESIS_HASH = '0'.repeat(64);

/** The version of the hashed forms below. They are frozen: docs/adr/0003-hash-format.md. */
export const HASH_VERSION = 1;

/** An entry as it is stored, with `details` and `state` as canonical JSON text. */
export interface StoredEntry {
  readonly v: number;
  readonly sequence: number;
  readonly id: string;
  readonly timestamp: string;
  readonly action: string;
  readonly subjectType: string;
  readonly subjectId: string;
  readonly auditId: string;
  readonly actorType: string;
  readonly actorId: string;
  readonly agentId: string | null;
  readonly entityId: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly details: string;
  readonly requestId: string | null;
  readonly ip: string | null;
  readonly state: string | null;
  readonly auditHash: string;
  readonly stateHash: string | null;
  readonly previousHash: string;
  readonly hash: string;
}

/** An entry before it takes its place in the chain. */
export type UnsealedEntry = Omit<StoredEntry, 'v' | 'auditHash' | 'stateHash' | 'previousHash' | 'hash'>;

/** SHA-256 (FIPS 180-4) of the UTF-8 text, in lower-case hex. */
export function sha256(text: string): string {
  return digest('sha256', text, 'hex');
}

/**
 * RFC 8785 text of the audit entry: members in code-unit order. For strings, integers and null the scheme prescribes what
 * JSON.stringify writes; `details` is canonical already.
 */
export function auditText(entry: UnsealedEntry): string {
  return (
    `{"action":${JSON.stringify(entry.action)}` +
    `,"actor":{"id":${JSON.stringify(entry.actorId)},"type":${JSON.stringify(entry.actorType)}}` +
    `,"agentId":${JSON.stringify(entry.agentId)}` +
    `,"details":${entry.details}` +
    `,"entityId":${JSON.stringify(entry.entityId)}` +
    `,"id":${JSON.stringify(entry.auditId)}` +
    `,"ip":${JSON.stringify(entry.ip)}` +
    `,"outcome":${JSON.stringify(entry.outcome)}` +
    `,"reason":${JSON.stringify(entry.reason)}` +
    `,"requestId":${JSON.stringify(entry.requestId)}` +
    `,"sequence":${JSON.stringify(entry.sequence)}` +
    `,"subjectId":${JSON.stringify(entry.subjectId)}` +
    `,"subjectType":${JSON.stringify(entry.subjectType)}` +
    `,"timestamp":${JSON.stringify(entry.timestamp)}}`
  );
}

/** RFC 8785 text of what `hash` covers. */
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
 * Gives an entry its place after the entry whose hash is `previousHash`. New members precede the copied ones: V8 takes
 * microseconds to append them.
 */
export function seal(entry: UnsealedEntry, previousHash: string): StoredEntry {
  const sealed = {
    hash: '',
    v: HASH_VERSION,
    auditHash: sha256(auditText(entry)),
    stateHash: entry.state === null ? null : sha256(entry.state),
    previousHash,
    ...entry,
  };
  sealed.hash = sha256(sealText(sealed));
  return sealed;
}

/** True when every hash of the entry matches what is stored next to it. */
export function hashesMatch(entry: StoredEntry): boolean {
  return (
    entry.auditHash === sha256(auditText(entry)) &&
    entry.stateHash === stateHashOf(entry.state) &&
    entry.hash === sha256(sealText(entry))
  );
}

/** An altered row may hold anything; only text has a hash. */
function stateHashOf(state: unknown): string | null | undefined {
  if (state === null) return null;
  return typeof state === 'string' ? sha256(state) : undefined;
}
