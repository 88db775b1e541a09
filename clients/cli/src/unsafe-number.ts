/** A value of the JSON in which the search goes on. */
interface Place {
  readonly value: unknown;
  readonly path: string;
}

/** The strings of a JSON text, and its numbers. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const TOO_LARGE = '1e999';

/**
 * Returns the path of a number that would change silently: an integer whose digits are not those that JavaScript, and
 * so the service, writes for it, or one that no double can hold. Undefined if there is none. Integers are expected as
 * bigints, which have all digits.
 */
export function changedNumberIn(value: unknown, path: string): string | undefined {
  return placeIn(value, path, isChanged);
}

/** Returns the same for a text that is valid JSON. */
export function changedNumberInJson(text: string, path: string): string | undefined {
  const markedText = text.replace(STRING_OR_NUMBER, (literal) =>
    INTEGER.test(literal) && isChanged(BigInt(literal)) ? TOO_LARGE : literal,
  );
  return changedNumberIn(JSON.parse(markedText), path);
}

/**
 * Returns the path of a number that may have changed when another program parsed it: nobody knows any more with which
 * digits an integer beyond 2^53−1 was written.
 */
export function doubtfulNumberIn(value: unknown, path: string): string | undefined {
  return placeIn(value, path, isDoubtful);
}

/** Returns a sentence about such a number. */
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

/** Returns the path of the first value of such a kind; undefined if there is none. */
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
