import type { JsonScalar, JsonValue } from '../../../core/json/json-value';

type Found = JsonValue | undefined;

/** Undefined if the pointer refers to nothing. */
export function valueAt(path: readonly string[], from: JsonValue): Found {
  let value: Found = from;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (isList(value)) value = INDEX.test(name) ? value[Number(name)] : undefined;
    else value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** Undefined if the pointer refers to no scalar. */
export function pointedScalar(path: readonly string[], from: JsonValue): JsonScalar | undefined {
  const value = valueAt(path, from);
  return isScalar(value) ? value : undefined;
}

export function isScalar(value: unknown): value is JsonScalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

export function isList(value: Found): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** According to RFC 6901: without leading zeros. */
const INDEX = /^(?:0|[1-9]\d*)$/;

/** As a token of a pointer: each item of a list. */
export const EACH = '*';

export function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}
