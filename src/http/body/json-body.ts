import { type FieldFault, invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { repeatedName } from '../../core/values/repeated-name';
import { extentOf } from './json-extent';
import { pathTo, scanJson } from './json-scanner';

/** Deepest level allowed; the body itself is level 1. */
const MOST_LEVELS = 32;

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
