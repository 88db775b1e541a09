/** Far more than the service takes, which says so itself. */
const MAX_LEVELS = 1_000;

/** A body within which objects and lists are nested so deeply that it cannot be sent. */
export class NestedTooDeepError extends TypeError {}

/** @throws TypeError that names the place of what is not plain JSON; NestedTooDeepError. */
export function plainJson(value: unknown): string {
  requirePlain(value, '', new Set());
  return JSON.stringify(value);
}

/**
 * Refuses what JSON would change on its way, such as a Set, NaN or a Date: the record, and an approval, would be of something else
 * than what runs. A member that is undefined means the same as one that is left out.
 * @param within what the value is a part of; the same afterwards.
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
  // Holes, too.
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

/** Only with its items: JSON leaves out whatever else it has. */
function isPlainList(list: readonly unknown[]): boolean {
  return Array.isArray(Object.getPrototypeOf(list)) && Reflect.ownKeys(list).length <= list.length + 1;
}

/** Without a class, and without members that JSON leaves out. Objects of another realm, such as a worker's, are plain, too. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isOfClass = prototype !== null && !Object.hasOwn(prototype as object, 'isPrototypeOf');
  return !isOfClass && Reflect.ownKeys(value).length === Object.keys(value).length;
}
