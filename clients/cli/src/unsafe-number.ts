/** A value whose members are still to be searched. */
interface Place {
  readonly value: unknown;
  readonly path: string;
}

/** The strings of a JSON text, and its numbers. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const TOO_LARGE = '1e999';

/**
 * Returns the path of a number that would change silently; undefined if there is none. It is an integer whose digits
 * differ from those that JavaScript, and so the service, writes for it, or a number that no double can hold. Integers
 * are expected as bigints, which keep all digits.
 */
export function changedNumberIn(value: unknown, path: string): string | undefined {
  return placeIn(value, path, isChanged);
}

/** Does what {@link changedNumberIn} does, for the text of valid JSON. */
export function changedNumberInJson(text: string, path: string): string | undefined {
  const markedText = text.replace(STRING_OR_NUMBER, (literal) =>
    INTEGER.test(literal) && isChanged(BigInt(literal)) ? TOO_LARGE : literal,
  );
  return changedNumberIn(JSON.parse(markedText), path);
}

/**
 * Returns the path of a number that may have changed when another program parsed it, such as an integer beyond 2^53−1,
 * whose original digits are lost.
 */
export function doubtfulNumberIn(value: unknown, path: string): string | undefined {
  return placeIn(value, path, isDoubtful);
}

/** Returns a sentence about a number that would change. */
export function changedNumberText(path: string): string {
  return `${path} is a number that would change silently, such as an integer beyond 2^53−1: send it as a text.`;
}

function isChanged(value: unknown): boolean {
  if (typeof value === 'bigint') return String(Number(value)) !== String(value);
  return typeof value === 'number' && !Number.isFinite(value);
}

function isDoubtful(value: unknown): boolean {
  if (typeof value !== 'number') return false;
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

/** Returns the path of a value for which `isSought` returns true; undefined if there is none. */
export function placeIn(value: unknown, path: string, isSought: (value: unknown) => boolean): string | undefined {
  const visited = new Set<unknown>();
  const queue: Place[] = [{ value, path }];
  for (let place = queue.pop(); place !== undefined; place = queue.pop()) {
    if (isSought(place.value)) return place.path;
    if (typeof place.value !== 'object' || place.value === null || visited.has(place.value)) continue;
    visited.add(place.value);
    for (const member of membersOf(place.value, place.path)) queue.push(member);
  }
  return undefined;
}

function membersOf(value: object, path: string): Place[] {
  if (Array.isArray(value))
    return value.map((member: unknown, index) => ({ value: member, path: `${path}[${index}]` }));
  return Object.entries(value).map(([name, member]) => ({
    value: member as unknown,
    path: path === '' ? name : `${path}.${name}`,
  }));
}
