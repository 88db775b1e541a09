import { isUtf8 } from 'node:buffer';
import { type DomainError, type FieldFault, invalidField } from '../../errors/domain-error';
import { parseInSlices, TooDeepError } from '../../json/json-builder';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../json/json-characters';
import type { JsonObject } from '../../json/json-value';
import { Slices } from '../../shared/slices';
import { type JsonScan, MOST_LEVELS, JsonScanner } from './json-scanner';

const BYTE_ORDER_MARK = '\uFEFF';
/** Bytes from which on a body is large. */
const LARGE = 64 * 1024;
/**
 * Number of values above which a body is parsed in chunks: JSON.parse takes a third of the time, but blocks other
 * requests.
 */
const MANY_VALUES = 10_000;
const POSITION = /position (\d+)/;

export interface JsonBody {
  readonly value: JsonObject;
  /** Parts of the text that could not be returned as they were sent. */
  readonly faults: readonly FieldFault[];
}

/**
 * Parses the bytes of a body. Large ones wait for an iteration of the event loop of their own, since many may arrive at once.
 * Throws VALIDATION_ERROR when they are not UTF-8, not JSON, too deep or not an object.
 */
export function parseJsonBody(bytes: Buffer): JsonBody | Promise<JsonBody> {
  return bytes.length < LARGE ? parsedAtOnce(textOf(bytes), extentOf(bytes)) : parsedInTurn(bytes);
}

function parsedAtOnce(text: string, extent: Extent): JsonBody {
  return bodyOf(parsed(text), scanJson(text, extent));
}

async function parsedInTurn(bytes: Buffer): Promise<JsonBody> {
  const slices = await Slices.inTurn();
  const text = textOf(bytes);
  const extent = extentOf(bytes, MANY_VALUES);
  await slices.next();
  return extent.values < MANY_VALUES ? parsedAtOnce(text, extent) : parsedInSlices(text, slices);
}

async function parsedInSlices(text: string, slices: Slices): Promise<JsonBody> {
  const value = await parseInSlices(text, slices, MOST_LEVELS).catch((error: unknown) => {
    throw error instanceof TooDeepError ? tooDeep() : notJson(error, text);
  });
  await slices.next();
  return bodyOf(value, await scanJsonInSlices(text, slices));
}

function bodyOf(value: unknown, { faults, isTooDeep }: JsonScan): JsonBody {
  if (isTooDeep) {
    throw tooDeep();
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidField('body', 'must be a JSON object');
  }
  return { value: value as JsonObject, faults };
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) {
    throw invalidField('body', 'must be UTF-8');
  }
  const text = bytes.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(error, text);
  }
}

/** How much a text contains, outside strings. */
interface Extent {
  /** Characters that precede values: brackets and commas. */
  readonly values: number;
  /** How deep it is nested. */
  readonly levels: number;
}

/** Stops at a number of values. The characters of a string would take several times as long as its bytes. */
export function extentOf(bytes: Buffer, mostValues = Infinity): Extent {
  let [values, level, levels] = [0, 0, 0];
  let isInText = false;
  for (let index = 0; index < bytes.length && values < mostValues; index += 1) {
    const code = bytes[index];
    if (code === QUOTE) isInText = !isInText;
    else if (isInText) index += code === BACKSLASH ? 1 : 0;
    else if (code === COMMA) values += 1;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      values += 1;
      level += 1;
      if (level > levels) levels = level;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) level -= 1;
  }
  return { values, levels };
}

function tooDeep(): DomainError {
  return invalidField('body', `must be nested at most ${MOST_LEVELS} levels deep`);
}

function notJson(error: unknown, text: string): DomainError {
  return invalidField('body', `must be valid JSON${placeOf(error, text)}`);
}

function placeOf(error: unknown, text: string): string {
  const position = error instanceof Error ? POSITION.exec(error.message)?.[1] : undefined;
  if (position === undefined) {
    return '';
  }
  const before = text.slice(0, Number(position)).split('\n');
  return ` (see line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`;
}

/** An escape, a forbidden key, or a number long enough to lose digits or to overflow: only these need the full scan. */
const WORTH_SCANNING = /\\u|__proto__|\d{16}|[eE]\+?\d{3}/;
/** Length of the longest text that this pattern has to see as a whole. */
const LONGEST_FIND = 16;

/** Characters processed between two checks of the clock. */
const PART = 16 * 1024;
const NOTHING_FOUND: JsonScan = { faults: [], isTooDeep: false };

/**
 * Finds what a parsed value no longer shows, in a text that is valid JSON: too many levels, `__proto__` keys, NUL and
 * lone surrogates, integers beyond 2^53−1 that would change and numbers that overflow.
 */
export function scanJson(text: string, { levels }: Extent): JsonScan {
  if (levels <= MOST_LEVELS && !WORTH_SCANNING.test(text)) return NOTHING_FOUND;
  return new JsonScanner(text).advance(text.length) ?? NOTHING_FOUND;
}

/** The same, in chunks, so that other requests are not blocked. Parsing has counted the levels. */
async function scanJsonInSlices(text: string, slices: Slices): Promise<JsonScan> {
  if (await isOrdinaryInSlices(text, slices)) return NOTHING_FOUND;
  const scanner = new JsonScanner(text);
  for (;;) {
    const found = scanner.advance(PART);
    if (found !== null) return found;
    await slices.next();
  }
}

async function isOrdinaryInSlices(text: string, slices: Slices): Promise<boolean> {
  for (let start = 0; start < text.length; start += PART) {
    if (WORTH_SCANNING.test(text.slice(start, start + PART + LONGEST_FIND))) return false;
    if (slices.areDue) await slices.next();
  }
  return true;
}
