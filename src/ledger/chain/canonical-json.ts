import type { JsonValue } from '../../json/json-value';
import type { Slices } from '../../shared/slices';
import { CanonicalWriter, refuseNoScalar } from './canonical-writer';

/** Values written between two checks of the clock. */
const PART = 1_000;

/** The texts of large values, prepared in chunks. */
const prepared = new WeakMap<object, string>();

/**
 * The canonical JSON text of a value: RFC 8785 (JSON Canonicalization Scheme). Scalars are written as JSON.stringify
 * writes them, which is what the scheme prescribes; members are sorted by UTF-16 code units. No name is special: a
 * client's object may well have a member `toJSON`, which libraries take for a method.
 * Throws TypeError on what JSON cannot carry.
 */
export function canonicalJson(value: JsonValue): string {
  // JSON.stringify takes a tenth of the time.
  if (isOrdered(value)) return JSON.stringify(value);
  const writer = new CanonicalWriter(value, preparedText);
  while (!writer.advance(PART));
  return writer.text;
}

/**
 * Makes the canonical text of a list or an object in chunks, so that other work is not blocked, and keeps it for as
 * long as the value lives. The value must not change afterwards; `canonicalJson` then returns the text at once.
 */
export async function prepareCanonicalJson(value: JsonValue & object, slices: Slices): Promise<void> {
  await slices.next();
  const writer = new CanonicalWriter(value, preparedText);
  await slices.next();
  while (!writer.advance(PART)) await slices.next();
  prepared.set(value, writer.text);
}

/** The canonical text of a list or an object; undefined if it was not prepared. */
export function preparedText(value: object): string | undefined {
  return prepared.get(value);
}

/** Whether JSON.stringify already writes the canonical text of a value. */
function isOrdered(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) {
    refuseNoScalar(value);
    return true;
  }
  if (prepared.has(value)) return false;
  if (isList(value)) return value.every(isOrdered);
  let previous = '';
  for (const name of Object.keys(value)) {
    if (name < previous || !isOrdered(value[name] as JsonValue)) return false;
    previous = name;
  }
  return true;
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
