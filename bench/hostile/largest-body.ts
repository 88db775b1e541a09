import type { JsonObject, JsonValue } from '../../src/core/json/json-value';

/** The members of a schema of the API document that limit a body. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly allOf?: readonly JsonSchema[];
  readonly additionalProperties?: unknown;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** Bytes of a body, slightly below the limit; routes that take whole sets of policies have a higher one. */
const MAX_BYTES = 1_000_000;
const MAX_SET_BYTES = 8_000_000;
/** Maximum number of characters of a description. */
const MAX_TEXT = 2_000;
const SET_ROUTES: readonly string[] = ['/api/v1/policies/plan', '/api/v1/policies/apply'];
/** Values of a body, slightly below its limit; routes with lists of questions or policies have higher ones. */
const MAX_VALUES = 9_000;
const MAX_LISTED_VALUES: Readonly<Record<string, number>> = {
  '/api/v1/policies/evaluate': 90_000,
  '/access/v1/evaluations': 90_000,
  '/api/v1/policies/plan': 450_000,
  '/api/v1/policies/apply': 450_000,
};

/**
 * Enlarges an example until it has nearly as many values and bytes as the service takes: the items of lists are
 * repeated with names of their own, and free-form objects are filled.
 */
export function largestBody(example: JsonObject, schema: JsonSchema, schemas: Schemas, path: string): JsonObject {
  const maxValues = MAX_LISTED_VALUES[path] ?? MAX_VALUES;
  const maxBytes = SET_ROUTES.includes(path) ? MAX_SET_BYTES : MAX_BYTES;
  const members = { ...membersOf(schema, schemas) };
  const body: Record<string, JsonValue> = { ...example };
  for (const [name, member] of Object.entries(members)) {
    const { items, maxItems = 0 } = resolve(member, schemas);
    const [item] = Array.isArray(body[name]) ? (body[name] as readonly JsonValue[]) : [];
    if (items !== undefined && item !== undefined) body[name] = repeat(item, { maxItems, maxValues, maxBytes });
  }
  const free = Object.entries(members).filter(([, member]) => isFreeForm(resolve(member, schemas)));
  const remaining = Math.min(MAX_VALUES, maxValues - countValues(body));
  const bytes = maxBytes - JSON.stringify(body).length;
  for (const [name] of free)
    if (remaining > 0 && bytes > 0) body[name] = fill(remaining / free.length, bytes / free.length);
  return body;
}

function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const [first] = schema.allOf ?? [];
  const { $ref } = schema.$ref === undefined && first !== undefined ? first : schema;
  return $ref === undefined ? schema : (schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
}

function membersOf(schema: JsonSchema, schemas: Schemas): Readonly<Record<string, JsonSchema>> {
  return resolve(schema, schemas).properties ?? {};
}

function isFreeForm({ type, properties, additionalProperties }: JsonSchema): boolean {
  return (
    (type === 'object' || type?.includes('object') === true) &&
    properties === undefined &&
    additionalProperties !== false
  );
}

/** Bounds of a list. */
interface ListBounds {
  readonly maxItems: number;
  readonly maxValues: number;
  readonly maxBytes: number;
}

/**
 * Returns copies of an item, as many as the limits of the list, the values and the bytes allow. Names get a number, and
 * policies a text that fills the bytes.
 */
function repeat(item: JsonValue, { maxItems, maxValues, maxBytes }: ListBounds): JsonValue[] {
  const size = JSON.stringify(item).length + 8;
  const count = Math.floor(Math.min(maxItems, maxValues / (countValues(item) + 1), maxBytes / size));
  const text = 'x'.repeat(Math.min(MAX_TEXT, Math.max(0, Math.floor(maxBytes / count) - size)));
  return Array.from({ length: count }, (_, index) => {
    if (typeof item === 'string') return `${item}-${index}`;
    if (item === null || typeof item !== 'object' || !('name' in item) || typeof item['name'] !== 'string') return item;
    const description = 'effect' in item ? { description: text } : {};
    return { ...item, name: `${item['name']}-${index}`, ...description };
  });
}

/** Returns an object of so many values and bytes: it has many short members, and a long text. */
function fill(values: number, bytes: number): JsonObject {
  const members = Array.from({ length: Math.floor(values) - 1 }, (_, index) => [`m${index}`, index] as const);
  const short = Object.fromEntries(members);
  return { ...short, text: 'x'.repeat(Math.max(0, bytes - JSON.stringify(short).length - 100)) };
}

function countValues(value: JsonValue): number {
  if (value === null || typeof value !== 'object') return 1;
  return Object.values(value as JsonObject).reduce<number>((sum, inner) => sum + countValues(inner), 1);
}
