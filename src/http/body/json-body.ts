import { type FieldFault, invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { repeatedName } from '../../core/values/repeated-name';
import { type ExtentBounds, extentOf } from './json-extent';
import { type FirstItemPlace, pathTo, scanJson, stepsFrom } from './json-scanner';

/** Deepest level allowed; the body itself is level 1. */
const MAX_LEVELS = 32;

const POSITION = /position (\d+)/;
/**
 * Matches an escape, a forbidden key, or a number long enough to lose digits or to overflow: only these need a scan.
 */
const WORTH_SCANNING = /\\u|__proto__|\d{16}|[eE]\+?\d{3}/;
/** Decodes UTF-8 and removes a byte order mark. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });
/** Decodes a part of a body, and keeps U+FEFF, which may only be at the beginning of a body. */
const UTF_8_PART = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface JsonBody {
  readonly value: JsonObject;
  /** Number of values in the body: see `extentOf`. */
  readonly values: number;
  /** Parts of the text that could not be returned as they were sent. */
  readonly faults: readonly FieldFault[];
}

/** A route's rules for its body. */
export interface BodyRules extends ExtentBounds {
  readonly refusesRepeatedNames?: boolean;
}

/**
 * Parses the bytes of a body.
 * @throws VALIDATION_ERROR when they have too many values, are not UTF-8, not JSON, too deep or not an object.
 */
export function parseJsonBody(bytes: Buffer, rules: BodyRules = {}): JsonBody {
  const { values, levels, excess } = extentOf(bytes, rules);
  if (excess !== undefined) throw invalidField('body', excess);
  const text = decodeUtf8(bytes);
  const value = requireObject(parseText(text), levels);
  // A repeated name counts twice in the text, but once in the parsed value.
  const isRepeated = rules.refusesRepeatedNames === true && valuesIn(value) < values;
  return { value, values, faults: textFaults(text, isRepeated) };
}

/** @throws VALIDATION_ERROR when a body is nested too deep or is not an object. */
export function requireObject(value: unknown, levels: number): JsonObject {
  if (levels > MAX_LEVELS) throw invalidField('body', `must be nested at most ${MAX_LEVELS} levels deep`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidField('body', 'must be a JSON object');
  }
  return value as JsonObject;
}

/**
 * Returns the parts of a valid JSON text that could not be returned as they were sent, and the first repeated name.
 * @param place from which the paths of faults begin; see `scanJson`.
 */
export function textFaults(text: string, isRepeated: boolean, place?: FirstItemPlace): FieldFault[] {
  const faults = WORTH_SCANNING.test(text) ? scanJson(text, place) : [];
  return isRepeated ? [...repetitionFaults(text, place), ...faults] : [...faults];
}

/** Counts members and elements at any depth. */
export function valuesIn(value: object): number {
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let values = members.length;
  for (const member of members) if (typeof member === 'object' && member !== null) values += valuesIn(member);
  return values;
}

function repetitionFaults(text: string, place?: FirstItemPlace): FieldFault[] {
  const path = repeatedName(text);
  if (path === undefined) return [];
  return [{ field: pathTo(stepsFrom(place, path)), message: 'must be given once: it is there twice' }];
}

/** @throws VALIDATION_ERROR when the bytes are not UTF-8. Removes a byte order mark unless `isPart`. */
export function decodeUtf8(bytes: Uint8Array, isPart = false): string {
  try {
    return (isPart ? UTF_8_PART : UTF_8).decode(bytes);
  } catch {
    throw invalidField('body', 'must be UTF-8');
  }
}

/**
 * @param before returns what precedes a position of the text in the body.
 * @throws VALIDATION_ERROR when the text is not JSON; the message names the line and the column in the body.
 */
export function parseText(text: string, before = (position: number): string => text.slice(0, position)): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = error instanceof Error ? POSITION.exec(error.message)?.[1] : undefined;
    throw invalidField(
      'body',
      `must be valid JSON${position === undefined ? '' : lineAndColumn(before(Number(position)))}`,
    );
  }
}

function lineAndColumn(text: string): string {
  const lines = text.split('\n');
  return ` (see line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1})`;
}
