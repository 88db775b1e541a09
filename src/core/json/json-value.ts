import type { SchemaObject } from '@nestjs/swagger';

export type JsonScalar = string | number | boolean | null;
export type JsonValue = JsonScalar | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * Any JSON value, for the API document. Each form says that it may be null: some generators look at only one of them.
 */
export const ANY_JSON_SCHEMA = {
  anyOf: [
    { type: 'object', additionalProperties: true, nullable: true },
    { type: 'array', items: {}, nullable: true },
    { type: 'string', nullable: true },
    { type: 'number', nullable: true },
    { type: 'boolean', nullable: true },
  ],
} satisfies SchemaObject;

/** Parses JSON; undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_DEPTH = 32;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** A value that is not JSON; `path` says where: `result.items[3]`. */
export class NotJsonError extends Error {
  constructor(
    readonly path: string,
    readonly why: string,
  ) {
    super(`${path} ${why}`);
    this.name = 'NotJsonError';
  }
}

/**
 * Copies a value as `JSON.stringify` would write it, but throws for everything that would silently change or be lost:
 * numbers that are not finite, functions, text that is not Unicode, cycles. Undefined members are left out; undefined
 * itself becomes null.
 */
export function toJsonValue(value: unknown, path: string, depth = 1): JsonValue {
  const plain = hasToJson(value) ? value.toJSON() : value;
  if (plain === undefined || plain === null || typeof plain === 'boolean') return plain ?? null;
  if (typeof plain === 'string') return checkedText(plain, path);
  if (typeof plain === 'number') {
    if (!Number.isFinite(plain)) throw new NotJsonError(path, 'is not a finite number');
    return plain;
  }
  if (typeof plain !== 'object') throw new NotJsonError(path, `is a ${typeof plain}`);
  if (depth > MAX_DEPTH) throw new NotJsonError(path, `is nested deeper than ${MAX_DEPTH} levels`);
  if (plain instanceof Map || plain instanceof Set) throw new NotJsonError(path, 'is a Map or Set');
  if (Array.isArray(plain)) return plain.map((item, index) => toJsonValue(item, `${path}[${index}]`, depth + 1));
  return toJsonObject(plain, path, depth);
}

function toJsonObject(value: object, path: string, depth: number): JsonValue {
  const members: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    if (key === '__proto__') throw new NotJsonError(path, 'has a member "__proto__"');
    members[checkedText(key, path)] = toJsonValue(member, `${path}.${key}`, depth + 1);
  }
  return members;
}

function checkedText(text: string, path: string): string {
  if (text.includes('\u0000') || LONE_SURROGATE.test(text)) {
    throw new NotJsonError(path, 'has NUL or a lone surrogate in a text');
  }
  return text;
}

function hasToJson(value: unknown): value is { toJSON: () => unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function';
}
