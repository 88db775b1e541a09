import { sha256Hex } from './primitives.mjs';

/**
 * Canonical JSON, RFC 8785: members sorted by UTF-16 code units, scalars as ECMAScript writes them.
 * @param {unknown} value the result of JSON.parse
 * @returns {string}
 */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/**
 * SHA-256 of the canonical JSON of a value, in lower-case hex.
 * @param {unknown} value
 */
export function hashOf(value) {
  return sha256Hex(canonicalJson(value));
}
