import { isUtf8 } from 'node:buffer';
import { type DomainError, type FieldFault, invalidField } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { extentOf, MOST_VALUES } from './body-extent';
import { scanJson } from './json-scanner';

/** Deepest level allowed; the body itself is level 1. */
const MOST_LEVELS = 32;

const BYTE_ORDER_MARK = '\uFEFF';
const POSITION = /position (\d+)/;
/** An escape, a forbidden key, or a number long enough to lose digits or to overflow: only these need a scan. */
const WORTH_SCANNING = /\\u|__proto__|\d{16}|[eE]\+?\d{3}/;

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
