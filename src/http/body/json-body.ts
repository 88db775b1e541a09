import { type FieldFault, invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { repeatedName } from '../../core/values/repeated-name';
import { pathTo, scanJson } from './json-scanner';

/** Deepest level allowed; the body itself is level 1. */
const MOST_LEVELS = 32;
/** The most values that a body may have, and each item of a list in a body that may have more in all. */
const MOST_VALUES = 10_000;

const POSITION = /position (\d+)/;
/** An escape, a forbidden key, or a number long enough to lose digits or to overflow: only these need a scan. */
const WORTH_SCANNING = /\\u|__proto__|\d{16}|[eE]\+?\d{3}/;
/** Removes a byte order mark. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

export interface JsonBody {
  readonly value: JsonObject;
  /** How many values it has: see `extentOf`. */
  readonly values: number;
  /** Parts of the text that could not be returned as they were sent. */
  readonly faults: readonly FieldFault[];
}

/** What a route says about its body. */
interface BodyRules {
  /** See `extentOf`. */
  readonly mostInAll?: number | undefined;
  readonly refusesRepeatedNames?: boolean;
}

/**
 * Parses the bytes of a body.
 * @throws VALIDATION_ERROR when they have too many values, are not UTF-8, not JSON, too deep or not an object.
 */
export function parseJsonBody(bytes: Buffer, { mostInAll, refusesRepeatedNames = false }: BodyRules = {}): JsonBody {
  const { values, levels, excess } = extentOf(bytes, mostInAll);
  if (excess !== undefined) throw invalidField('body', excess);
  const text = decodeUtf8(bytes);
  const value = parsed(text);
  if (levels > MOST_LEVELS) throw invalidField('body', `must be nested at most ${MOST_LEVELS} levels deep`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidField('body', 'must be a JSON object');
  }
  const faults = WORTH_SCANNING.test(text) ? scanJson(text) : [];
  // A name that is given twice counts twice in the text, and once in what is parsed.
  const isRepeated = refusesRepeatedNames && valuesIn(value) < values;
  return { value: value as JsonObject, values, faults: isRepeated ? [...repetitionFaults(text), ...faults] : faults };
}

/** Counts members and elements at any depth. */
function valuesIn(value: object): number {
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let values = members.length;
  for (const member of members) if (typeof member === 'object' && member !== null) values += valuesIn(member);
  return values;
}

function repetitionFaults(text: string): FieldFault[] {
  const path = repeatedName(text);
  return path === undefined ? [] : [{ field: pathTo(path), message: 'must be given once: it is there twice' }];
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw invalidField('body', 'must be UTF-8');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidField('body', `must be valid JSON${placeOf(error, text)}`);
  }
}

function placeOf(error: unknown, text: string): string {
  const position = error instanceof Error ? POSITION.exec(error.message)?.[1] : undefined;
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return ` (see line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`;
}

/** How much JSON contains; where that is too much, as far as it was read. */
interface BodyExtent {
  /** Members and elements at any depth. */
  readonly values: number;
  /** How deep it is nested. */
  readonly levels: number;
  /** What has too many values; undefined if nothing has. */
  readonly excess: string | undefined;
}

const LAST_SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Counts the values of a body in its bytes, before anything is built from them: members and elements at any depth. With
 * `mostInAll` above {@link MOST_VALUES}, that bound holds for each item of the lists that are members of the body, and
 * for everything outside these items. Of bytes that are not JSON the result means nothing.
 */
export function extentOf(bytes: Uint8Array, mostInAll = MOST_VALUES): BodyExtent {
  const hasItems = mostInAll > MOST_VALUES;
  let [level, levels] = [0, 0];
  let [all, outside, inItem, item] = [0, 0, 0, 0];
  let [isInText, isFirst, isInList] = [false, false, false];
  for (let index = 0; index < bytes.length; index += 1) {
    const code = bytes[index] ?? 0;
    if (isInText) {
      if (code === BACKSLASH) index += 1;
      else if (code === QUOTE) isInText = false;
      continue;
    }
    if (code <= LAST_SPACE) continue;
    const isEnd = code === CLOSE_BRACE || code === CLOSE_BRACKET;
    if (code === COMMA || (isFirst && !isEnd)) {
      all += 1;
      const isItem = hasItems && isInList && level === 2;
      if (isItem) [item, inItem] = [item + 1, 0];
      else if (hasItems && isInList && level > 2) inItem += 1;
      else outside += 1;
      if (all > mostInAll) return { values: all, levels, excess: excessOf('', mostInAll) };
      if (outside > MOST_VALUES)
        return { values: all, levels, excess: excessOf(hasItems ? 'outside its items ' : '', MOST_VALUES) };
      if (inItem > MOST_VALUES)
        return { values: all, levels, excess: excessOf(`in item ${item} of a list `, MOST_VALUES) };
    }
    isFirst = false;
    if (code === QUOTE) isInText = true;
    else if (isEnd) level -= 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      isFirst = true;
      level += 1;
      if (level > levels) levels = level;
      if (level === 2) [isInList, item] = [code === OPEN_BRACKET, 0];
    }
  }
  return { values: all, levels, excess: undefined };
}

function excessOf(where: string, most: number): string {
  return `must have at most ${most} values ${where}(members and list items, at any depth)`;
}
