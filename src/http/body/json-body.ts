import { isUtf8 } from 'node:buffer';
import { type FieldFault, invalidField } from '../../errors/domain-error';
import type { JsonObject } from '../../json/json-value';
import { scanJson } from './json-scan';

const BYTE_ORDER_MARK = '\uFEFF';
const POSITION = /position (\d+)/;

export interface JsonBody {
  readonly value: JsonObject;
  /** What the text holds that could not come back as it was sent. */
  readonly faults: readonly FieldFault[];
}

/** Parses the bytes of a body. Throws VALIDATION_ERROR when they are not UTF-8, not JSON, too deep or not an object. */
export function parseJsonBody(bytes: Buffer): JsonBody {
  const text = textOf(bytes);
  const value = parsed(text);
  const { faults, isTooDeep } = scanJson(text);
  if (isTooDeep) {
    throw invalidField('body', 'must be nested at most 32 levels deep');
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
    throw invalidField('body', `must be valid JSON${placeOf(error, text)}`);
  }
}

function placeOf(error: unknown, text: string): string {
  const position = error instanceof Error ? POSITION.exec(error.message)?.[1] : undefined;
  if (position === undefined) {
    return '';
  }
  const before = text.slice(0, Number(position)).split('\n');
  return ` (see line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`;
}
