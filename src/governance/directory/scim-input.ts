import { scimFault } from '../../core/errors/domain-error';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { parseFilter } from './scim-filter';

/** The address of a person, as SCIM lists it. */
export interface StoredEmail {
  readonly value: string;
  readonly type: 'work';
  readonly primary: true;
}

/** One operation of a PATCH, on one attribute. `value` may be null or absent, as in most operations that remove. */
export interface PatchOperation {
  readonly op: string;
  readonly path: string;
  readonly value?: JsonValue;
}

/** The effect of a PATCH or PUT on the members of a group. */
export interface MemberChange {
  /** True if all other members leave the group. */
  readonly replacesAll: boolean;
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

const PATH = /^(urn:[\w.:-]+:)?([a-z$][\w$-]*)(?:\[(.*)\])?(?:\.([a-z$][\w$-]*))?$/is;
const MAX_PATH_CHARACTERS = 1_000;
const EMAIL_PARTS = ['type', 'primary', 'value', 'display'] as const;

/**
 * Matches the schemas of stored attributes, whose URN may precede an attribute. Attributes of other schemas are
 * unknown.
 */
const CORE_SCHEMA = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):$/i;

/**
 * An attribute path: its attribute in lower case, with the URN of another schema if it has one, the filter in brackets
 * and the part after the dot.
 */
interface AttributePath {
  readonly name: string;
  readonly filter: string | undefined;
  readonly part: string | undefined;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Normalises a POST or PUT body: names in lower case, values as by `plainValue`, `emails` reduced to the stored one.
 * @throws VALIDATION_ERROR if an attribute occurs twice: case does not distinguish names
 */
export function plainBody(body: JsonObject): JsonObject {
  requireDistinct(Object.keys(body).map((name) => name.toLowerCase()));
  const members = Object.entries(body).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(
    members.flatMap(([name, value]) => {
      const plain = name === 'emails' ? listOfOne(pickEmail(value)) : plainValue(name, value);
      return plain === undefined ? [] : [[name, plain]];
    }),
  );
}

/** @throws VALIDATION_ERROR if an attribute of one object occurs twice */
function requireDistinct(names: readonly string[]): void {
  if (new Set(names).size < names.length)
    throw scimFault(
      'invalidSyntax',
      'An attribute must be given once; its name is there twice, perhaps in another case.',
    );
}

/** Converts an `active` that was sent as text to a boolean; an empty text and null become undefined. */
function plainValue(name: string, value: JsonValue | undefined): JsonValue | undefined {
  if (value === '' || value === null) return undefined;
  if (name !== 'active' || typeof value !== 'string') return value;
  const text = value.toLowerCase();
  return text === 'true' || text === 'false' ? text === 'true' : value;
}

function listOfOne(email: StoredEmail | undefined): readonly JsonValue[] {
  return email === undefined ? [] : [{ ...email }];
}

/** Returns the address that is stored: the primary one, else one of the type `work`, else the first. */
function pickEmail(value: JsonValue | undefined): StoredEmail | undefined {
  const items = (Array.isArray(value) ? value : [value]).flatMap((item: JsonValue | undefined) =>
    isJsonObject(item) ? [item] : typeof item === 'string' ? [{ value: item }] : [],
  ) as readonly JsonObject[];
  const present = items.filter((item) => typeof item['value'] === 'string' && item['value'] !== '');
  const chosen = present.find(isPrimary) ?? present.find((item) => item['type'] === 'work') ?? present[0];
  return typeof chosen?.['value'] === 'string' ? storedEmail(chosen['value']) : undefined;
}

function isPrimary({ primary = null }: JsonObject): boolean {
  return primary === true || (typeof primary === 'string' && primary.toLowerCase() === 'true');
}

export function storedEmail(value: string): StoredEmail {
  return { value, type: 'work', primary: true };
}

/**
 * Splits an operation without a path into one for each attribute, and drops operations on attributes not in `names`.
 * @param names names in lower case
 * @throws VALIDATION_ERROR for a malformed path, and if the path is absent for a value that is no object or has an
 * attribute twice
 */
export function plainOperations(operations: readonly JsonObject[], names: ReadonlySet<string>): PatchOperation[] {
  return operations
    .flatMap(({ op = '', path = null, value = null }) => {
      const kind = typeof op === 'string' ? op.toLowerCase() : '';
      if (typeof path === 'string') return [{ op: kind, path, value }];
      if (!isJsonObject(value)) throw scimFault('invalidValue', 'Without a path, the value must be an object.');
      requireDistinct(keptPaths(Object.keys(value), names));
      return Object.entries(value).map(([name, part]) => ({ op: kind, path: name, value: part }));
    })
    .filter(({ path }) => names.has(attributePath(path).name));
}

/** Returns a form of each path to an attribute in `names` that is equal for equal paths. */
function keptPaths(paths: readonly string[], names: ReadonlySet<string>): string[] {
  const parsed = paths.map(attributePath).filter(({ name }) => names.has(name));
  return parsed.map(({ name, filter, part }) => JSON.stringify([name, filter, part]));
}

/** Parses an attribute path. @throws VALIDATION_ERROR if it is malformed */
function attributePath(path: string): AttributePath {
  const [, schema = '', name, filter, part] = path.length > MAX_PATH_CHARACTERS ? [] : (PATH.exec(path) ?? []);
  if (name === undefined)
    throw scimFault('invalidPath', 'Expected a path such as displayName or emails[type eq "work"].value.');
  const attribute = CORE_SCHEMA.test(schema) ? name : `${schema}${name}`;
  return { name: attribute.toLowerCase(), filter, part: part?.toLowerCase() };
}

/** Simplifies operations on a person for the SCIM library; drops those on addresses that are not stored. */
export function userOperations(operations: readonly PatchOperation[], hasEmail: boolean): PatchOperation[] {
  return operations.flatMap((operation) => {
    const path = attributePath(operation.path);
    if (path.name === 'emails') return emailOperation(operation, path, hasEmail);
    return [simpleOperation(operation, path)];
  });
}

/** @throws VALIDATION_ERROR for a filter or a part, which simple attributes do not have */
export function simpleOperation({ op, value }: PatchOperation, { name, filter, part }: AttributePath): PatchOperation {
  if (filter !== undefined || part !== undefined) throw scimFault('invalidPath', `${name} is a simple attribute.`);
  const plain = op === 'remove' ? undefined : plainValue(name, value);
  return plain === undefined ? { op: 'remove', path: name } : { op, path: name, value: plain };
}

function emailOperation(
  { op, value }: PatchOperation,
  { name: path, filter, part }: AttributePath,
  hasEmail: boolean,
): PatchOperation[] {
  if (filter !== undefined && !isAboutStoredEmail(filter)) return [];
  if (part !== undefined && part !== 'value') return [];
  if (op === 'remove') return [{ op, path }];
  const isOther = op === 'add' && hasEmail && filter === undefined && !isForWork(value);
  if (isOther) return [];
  const email = pickEmail(value);
  return [email === undefined ? { op: 'remove', path } : { op: 'replace', path, value: listOfOne(email) }];
}

function isForWork(value: JsonValue | undefined): boolean {
  const items = (Array.isArray(value) ? value : [value]) as readonly (JsonValue | undefined)[];
  return items.some((item) => !isJsonObject(item) || isPrimary(item) || (item['type'] ?? 'work') === 'work');
}

/** False if the filter selects a `type` other than `work`, or addresses that are not primary. */
function isAboutStoredEmail(filter: string): boolean {
  return parseFilter(filter, EMAIL_PARTS, 'invalidPath').every(({ name, value }) => {
    if (name === 'type') return String(value).toLowerCase() === 'work';
    return name !== 'primary' || String(value).toLowerCase() === 'true';
  });
}

/** Merges the operations on `members` into one change, and simplifies the others. */
export function groupOperations(operations: readonly PatchOperation[]): {
  readonly simple: readonly PatchOperation[];
  readonly members: MemberChange;
} {
  const simple: PatchOperation[] = [];
  const members = { replacesAll: false, added: new Set<string>(), removed: new Set<string>() };
  for (const operation of operations) {
    const path = attributePath(operation.path);
    if (path.name === 'members') addMembers(members, operation, path);
    else simple.push(simpleOperation(operation, path));
  }
  return { simple, members };
}

/** Adds members to a change. */
function addMembers(
  change: { replacesAll: boolean; readonly added: Set<string>; readonly removed: Set<string> },
  { op, value }: PatchOperation,
  path: AttributePath,
): void {
  if (path.part !== undefined) throw scimFault('invalidPath', 'Expected members, or members[value eq "…"].');
  if (path.filter !== undefined && op !== 'remove')
    throw scimFault('invalidPath', 'Only remove takes members with a filter.');
  const ids = path.filter === undefined ? memberIds(value) : filteredMember(path.filter);
  const isAboutAll = op === 'replace' || (op === 'remove' && path.filter === undefined && (value ?? null) === null);
  if (isAboutAll) {
    change.replacesAll = true;
    change.added.clear();
    change.removed.clear();
  }
  const [target, other] = op === 'remove' ? [change.removed, change.added] : [change.added, change.removed];
  for (const id of ids) {
    target.add(id);
    other.delete(id);
  }
}

function filteredMember(filter: string): ReadonlySet<string> {
  const ids = new Set(parseFilter(filter, ['value'], 'invalidPath').map(({ value }) => String(value)));
  // Conditions are joined by `and`, and a member cannot have two ids.
  return ids.size === 1 ? ids : new Set();
}

/** @throws VALIDATION_ERROR for a member without a value */
export function memberIds(value: JsonValue | undefined): ReadonlySet<string> {
  if (value === undefined || value === null || value === '') return new Set();
  const items = (Array.isArray(value) ? value : [value]) as readonly JsonValue[];
  return new Set(
    items.map((item) => {
      const id = isJsonObject(item) ? item['value'] : item;
      if (typeof id === 'string' && id !== '') return id;
      throw scimFault('invalidValue', 'Each of members must have the id of a user as its value.');
    }),
  );
}
