import type { JsonValue } from '../json/json-value';

/**
 * The canonical JSON text of a value: RFC 8785 (JSON Canonicalization Scheme). Scalars are written as JSON.stringify
 * writes them, which is what the scheme prescribes; members are sorted by UTF-16 code units. No name is special: a
 * client's object may well have a member `toJSON`, which libraries take for a method.
 * Throws TypeError on what JSON cannot carry.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return scalarText(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue)}`);
  return `{${members.join(',')}}`;
}

function scalarText(value: unknown): string {
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || value === null;
  if (isScalar || (typeof value === 'number' && Number.isFinite(value))) return JSON.stringify(value);
  throw new TypeError('JSON carries finite numbers, strings, booleans, null, lists and objects only.');
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
