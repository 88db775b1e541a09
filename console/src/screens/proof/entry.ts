import type { ChainEntry } from '../../api/types.js';
import { hex } from './hex.js';

/** Members that an entry and its audit entry have in common. */
const SHARED = ['sequence', 'timestamp', 'action', 'subjectType', 'subjectId'] as const;

/** Whether the hashes of an entry are those of its content: SHA-256 of canonical JSON, RFC 8785. */
export async function isAsHashed({ audit, state, hash, ...sealed }: ChainEntry): Promise<boolean> {
  const stateHash = state === null ? null : await hashOf(state);
  return (
    SHARED.every((name) => audit[name] === sealed[name]) &&
    audit.id === sealed.auditId &&
    sealed.auditHash === (await hashOf(audit)) &&
    sealed.stateHash === stateHash &&
    hash === (await hashOf(sealed))
  );
}

async function hashOf(value: unknown): Promise<string> {
  const text = new TextEncoder().encode(canonicalJson(value));
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', text)));
}

/** Members sorted by UTF-16 code units, scalars as ECMAScript writes them. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
