import type { JsonObject, JsonValue } from '../../core/json/json-value';

/**
 * The canonical JSON text of a value: RFC 8785 (JSON Canonicalization Scheme). Scalars are written as JSON.stringify
 * writes them, which is what the scheme prescribes; members are sorted by UTF-16 code units. No name is special: a
 * client's object may well have a member `toJSON`, which libraries take for a method.
 * @throws TypeError for a value that JSON cannot carry
 */
export function canonicalJson(value: JsonValue): string {
  // JSON.stringify takes a tenth of the time.
  return isOrdered(value) ? JSON.stringify(value) : written(value);
}

/** The canonical JSON text of an object in parts, of which each has at most one item of a list that is a member. */
export function* canonicalParts(value: JsonObject): Generator<string, undefined, undefined> {
  let separator = '{';
  for (const name of Object.keys(value).sort()) {
    const member = value[name] as JsonValue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    if (isNonEmptyList(member)) {
      for (const [index, item] of member.entries()) yield `${index === 0 ? '[' : ','}${canonicalJson(item)}`;
      yield ']';
    } else yield canonicalJson(member);
  }
  yield separator === '{' ? '{}' : '}';
}

/** True if JSON.stringify writes the canonical text of a value. */
function isOrdered(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) {
    refuseNonScalar(value);
    return true;
  }
  if (isList(value)) return value.every(isOrdered);
  let previous = '';
  for (const name of Object.keys(value)) {
    if (name < previous || !isOrdered(value[name] as JsonValue)) return false;
    previous = name;
  }
  return true;
}

function written(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) {
    refuseNonScalar(value);
    return JSON.stringify(value);
  }
  if (isList(value)) return `[${value.map(written).join(',')}]`;
  let text = '';
  for (const name of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${written(value[name] as JsonValue)}`;
  }
  return `{${text}}`;
}

function isNonEmptyList(value: JsonValue): value is readonly JsonValue[] {
  return typeof value === 'object' && value !== null && isList(value) && value.length > 0;
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function refuseNonScalar(value: unknown): void {
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || value === null;
  if (isScalar || (typeof value === 'number' && Number.isFinite(value))) return;
  throw new TypeError('JSON carries finite numbers, strings, booleans, null, lists and objects only.');
}
