import {
  type Prompt,
  type Resource,
  type ResourceTemplateType,
  specTypeSchemas,
  type StandardSchemaV1,
  type Tool,
} from '@modelcontextprotocol/client';
import { ResourceTemplate } from './resource-template.js';

/** The items of a server, by list. */
export interface ListedItems {
  readonly tools: Tool;
  readonly prompts: Prompt;
  readonly resources: Resource;
  readonly resourceTemplates: ResourceTemplateType;
}

/** An item of a list; a fault if it is left out. */
export type CheckedItem<Item> =
  | { readonly name: string; readonly item: Item }
  | { readonly name: unknown; readonly fault: string };

/**
 * Maximum number of characters of a name, a URI, a URI template and a cursor. Servers choose them, and they are parsed,
 * compared and printed: this is the only bound on their length.
 */
const MAX_ID_LENGTH = 2_000;
/** Maximum number of characters of a name in a warning. */
const MAX_WARNED_NAME = 100;

export const LISTS = {
  tools: { method: 'tools/list', schema: specTypeSchemas.Tool, id: 'name' },
  prompts: { method: 'prompts/list', schema: specTypeSchemas.Prompt, id: 'name' },
  resources: { method: 'resources/list', schema: specTypeSchemas.Resource, id: 'uri' },
  resourceTemplates: {
    method: 'resources/templates/list',
    schema: specTypeSchemas.ResourceTemplate,
    id: 'uriTemplate',
  },
} as const;

/** Accepts any page: its items are checked one by one. */
export const ANY_PAGE: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  '~standard': {
    version: 1,
    vendor: 'gov',
    validate: (value) => ({ value: Object(value) as Record<string, unknown> }),
  },
};

/**
 * Checks an item of a list: what it is called comes first, before anything reads all of it.
 * @param taken the items before it, by name
 */
export function checkItem<List extends keyof ListedItems>(
  list: List,
  item: unknown,
  taken: ReadonlyMap<string, unknown>,
): CheckedItem<ListedItems[List]> {
  const { schema, id } = LISTS[list];
  const name = (Object(item) as Record<string, unknown>)[id];
  if (isLong(name)) return { name, fault: `its ${id} has more than ${MAX_ID_LENGTH} characters` };
  const validation = schema['~standard'].validate(item);
  if (validation.issues !== undefined || typeof name !== 'string') return { name, fault: 'it is not valid' };
  if (taken.has(name)) return { name, fault: 'it is listed twice' };
  if (list === 'resourceTemplates' && ResourceTemplate.parse(name).length === 0)
    return { name, fault: 'it is no URI template, or has too many names' };
  return { name, item: validation.value as ListedItems[List] };
}

/** True if a list goes on with this cursor. */
export function isCursor(next: unknown): next is string {
  return typeof next === 'string' && !isLong(next);
}

/** Shortens a name for a warning, as a server may choose names of any length. */
export function warnedName(name: unknown): string {
  if (typeof name !== 'string') return 'An item without a name';
  return JSON.stringify(name.slice(0, MAX_WARNED_NAME)) + (name.length > MAX_WARNED_NAME ? '…' : '');
}

function isLong(text: unknown): boolean {
  return typeof text === 'string' && text.length > MAX_ID_LENGTH;
}
