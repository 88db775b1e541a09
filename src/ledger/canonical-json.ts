import type { JsonValue } from '../json/json-value';

/** Texts that JSON has as they are, between quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Characters up to which a look at a text costs less than to have it written. */
const SHORT = 40;

/**
 * The canonical JSON text of a value: RFC 8785 (JSON Canonicalization Scheme). Scalars are written as JSON.stringify
 * writes them, which is what the scheme prescribes; members are sorted by UTF-16 code units. No name is special: a
 * client's object may well have a member `toJSON`, which libraries take for a method.
 * Throws TypeError on what JSON cannot carry.
 */
export function canonicalJson(value: JsonValue): string {
  // A large value stalls everybody else: JSON.stringify takes a tenth of the time.
  return isOrdered(value) ? JSON.stringify(value) : orderedText(value);
}

/** Whether JSON.stringify writes the canonical text of a value. */
function isOrdered(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) {
    refuseNoScalar(value);
    return true;
  }
  if (isList(value)) return value.every(isOrdered);
  let former = '';
  for (const name of Object.keys(value)) {
    if (name < former || !isOrdered(value[name] as JsonValue)) return false;
    former = name;
  }
  return true;
}

function orderedText(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return scalarText(value);
  let text = '';
  if (isList(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${orderedText(item)}`;
    return `[${text}]`;
  }
  for (const name of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ','}${stringText(name)}:${orderedText(value[name] as JsonValue)}`;
  }
  return `{${text}}`;
}

function scalarText(value: string | number | boolean | null): string {
  if (typeof value === 'string') return stringText(value);
  refuseNoScalar(value);
  return String(value);
}

function stringText(text: string): string {
  return text.length <= SHORT && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function refuseNoScalar(value: unknown): void {
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || value === null;
  if (isScalar || (typeof value === 'number' && Number.isFinite(value))) return;
  throw new TypeError('JSON carries finite numbers, strings, booleans, null, lists and objects only.');
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
