/** What JSON holds, as far as it is searched. */
interface Place {
  readonly value: unknown;
  readonly path: string;
}

/**
 * Where a number is that is not the one that was written: an integer beyond 2^53−1, of which nobody knows its digits any more, or
 * one that no double can hold. Undefined if there is none.
 */
export function changedNumberIn(value: unknown, path: string): string | undefined {
  const seen = new Set<unknown>();
  const rest: Place[] = [{ value, path }];
  for (let place = rest.pop(); place !== undefined; place = rest.pop()) {
    if (typeof place.value === 'number' && isChanged(place.value)) return place.path;
    if (typeof place.value !== 'object' || place.value === null || seen.has(place.value)) continue;
    seen.add(place.value);
    for (const member of membersOf(place.value, place.path)) rest.push(member);
  }
  return undefined;
}

/** What to say of it. */
export function changedNumberText(path: string): string {
  return `${path} is a number that would change silently, such as an integer beyond 2^53−1: send it as a text.`;
}

function isChanged(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

function membersOf(value: object, path: string): Place[] {
  if (Array.isArray(value))
    return value.map((member: unknown, index) => ({ value: member, path: `${path}[${index}]` }));
  return Object.entries(value).map(([name, member]) => ({
    value: member as unknown,
    path: path === '' ? name : `${path}.${name}`,
  }));
}
