/** Maximum number of levels. The service accepts far fewer, and names its own limit. */
const MAX_LEVELS = 1_000;

/** A body within which objects and lists are nested so deeply that it cannot be sent. */
export class NestedTooDeepError extends TypeError {}

/**
 * Returns a value as JSON. @throws TypeError that names the place of a value that is not plain JSON; NestedTooDeepError
 */
export function plainJson(value: unknown): string {
  requirePlain(value, '', new Set());
  return JSON.stringify(value);
}

/**
 * Refuses values that JSON would change, such as a Set, NaN or a Date: the record, and an approval, would be about
 * something else than the action that runs. An undefined member counts as left out.
 * @param within the objects that contain the value; unchanged afterwards
 */
function requirePlain(value: unknown, place: string, within: Set<unknown>): void {
  if (!isPlain(value) || within.has(value)) {
    throw new TypeError(`${place || 'The body'} must be plain JSON, so that exactly what is sent is recorded.`);
  }
  if (typeof value !== 'object' || value === null) return;
  if (within.size === MAX_LEVELS)
    throw new NestedTooDeepError(`The body is nested more than ${MAX_LEVELS} levels deep.`);
  within.add(value);
  if (Array.isArray(value)) requirePlainItems(value, place, within);
  else requirePlainMembers(value, place, within);
  within.delete(value);
}

function requirePlainItems(list: readonly unknown[], place: string, within: Set<unknown>): void {
  // The loop also visits holes, which `forEach` would skip.
  for (let index = 0; index < list.length; index += 1) requirePlain(list[index], `${place}[${index}]`, within);
}

function requirePlainMembers(value: object, place: string, within: Set<unknown>): void {
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) requirePlain(member, place === '' ? name : `${place}.${name}`, within);
  }
}

function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'object') return Array.isArray(value) ? isPlainList(value) : isPlainObject(value);
  return Number.isFinite(value);
}

/** True if the list has nothing besides its items: JSON would leave that out. */
function isPlainList(list: readonly unknown[]): boolean {
  return Array.isArray(Object.getPrototypeOf(list)) && Reflect.ownKeys(list).length <= list.length + 1;
}

/**
 * True for an object without a class and without members that JSON leaves out. Objects of another realm, such as a
 * worker's, are plain, too.
 */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isOfClass = prototype !== null && !Object.hasOwn(prototype as object, 'isPrototypeOf');
  return !isOfClass && Reflect.ownKeys(value).length === Object.keys(value).length;
}
