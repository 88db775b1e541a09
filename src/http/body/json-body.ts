import { FaultList, type FieldFault, invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';

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

/**
 * Parses the bytes of a body.
 * @param mostInAll see `extentOf`
 * @throws VALIDATION_ERROR when they have too many values, are not UTF-8, not JSON, too deep or not an object.
 */
export function parseJsonBody(bytes: Buffer, mostInAll = MOST_VALUES): JsonBody {
  const { values, levels, excess } = extentOf(bytes, mostInAll);
  if (excess !== undefined) throw invalidField('body', excess);
  const text = textOf(bytes);
  const value = parsed(text);
  if (levels > MOST_LEVELS) throw invalidField('body', `must be nested at most ${MOST_LEVELS} levels deep`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidField('body', 'must be a JSON object');
  }
  return { value: value as JsonObject, values, faults: WORTH_SCANNING.test(text) ? scanJson(text) : [] };
}

function textOf(bytes: Buffer): string {
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

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const LONGEST_KEY_SHOWN = 100;

/** A client's key, truncated if it is too long to display. */
export function shownKey(key: string): string {
  return key.length > LONGEST_KEY_SHOWN ? `${key.slice(0, LONGEST_KEY_SHOWN)}…` : key;
}

/** Names a member of a body: `name`, `properties.a`, `properties["two words"]`. */
function pathOf(parent: string, key: string): string {
  const shown = shownKey(key);
  if (!PLAIN_KEY.test(shown)) return `${parent}[${JSON.stringify(shown)}]`;
  return parent === '' ? shown : `${parent}.${shown}`;
}

/** The texts and numbers of a JSON text: what is inside a text must not be taken for a number. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Stands for an integer that would change: whatever contains a NUL is a fault. */
const CHANGED_INTEGER = '\0integer';

/**
 * Finds what cannot be returned as it was sent, in a text that is valid JSON: `__proto__` keys, NUL and lone
 * surrogates, integers beyond 2^53−1 that would change and numbers that overflow. As many as are reported.
 */
export function scanJson(text: string): readonly FieldFault[] {
  const marked = text.replace(TEXT_OR_NUMBER, (token) => (isChanged(token) ? JSON.stringify(CHANGED_INTEGER) : token));
  const list = new FaultList();
  visit(JSON.parse(marked), '', list);
  return list.faults;
}

/**
 * Beyond 2^53−1 an integer survives only if its digits are those that ECMAScript, and so every answer of ours, writes
 * for it.
 */
function isChanged(token: string): boolean {
  return LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token)) && String(Number(token)) !== token;
}

function visit(value: unknown, path: string, list: FaultList): void {
  if (typeof value === 'string') visitText(value, path, list);
  else if (value === Infinity || value === -Infinity)
    list.add({ field: path, message: 'is too large for a number: send it as a string' });
  else if (Array.isArray(value)) value.forEach((item, index) => visit(item, `${path}[${index}]`, list));
  else if (typeof value === 'object' && value !== null) visitMembers(value, path, list);
}

function visitMembers(value: object, path: string, list: FaultList): void {
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (list.isFull) return;
    const field = pathOf(path, key);
    if (key === '__proto__') list.add({ field, message: 'is not allowed as a key' });
    visitText(key, field, list);
    visit(member, field, list);
  }
}

function visitText(text: string, field: string, list: FaultList): void {
  if (text === CHANGED_INTEGER) {
    const message = 'is an integer beyond 2^53−1, which would change silently: send it as a string';
    list.add({ field, message });
    return;
  }
  if (text.includes('\0')) list.add({ field, message: 'must not contain a NUL character' });
  if (LONE_SURROGATE.test(text))
    list.add({ field, message: 'must be well-formed Unicode: it contains half of a surrogate pair' });
}
