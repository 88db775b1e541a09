import type { Slices } from '../shared/slices';
import { JsonCheck, type JsonParts } from './json-check';
import type { JsonValue } from './json-value';

/** Characters parsed between two checks of the clock. */
const PART = 16 * 1024;

/** Most members of an object whose names can be listed at once without holding others up. */
export const MOST_LISTED = 10_000;

/** Objects with more members than that. */
const wide = new WeakSet();

/** Whether an object that was parsed in slices has more members than `MOST_LISTED`. */
export function isWide(value: object): boolean {
  return wide.has(value);
}

type Container = JsonValue[] | Record<string, JsonValue>;

/** A text is nested more deeply than allowed. */
export class TooDeepError extends Error {}

/**
 * Returns what `JSON.parse` would, in chunks, so that other work is not blocked. Throws SyntaxError as it does, and
 * TooDeepError if lists and objects are nested more deeply than the given level.
 */
export async function parseInSlices(text: string, slices: Slices, mostLevels = Infinity): Promise<JsonValue> {
  const builder = new JsonBuilder(text, mostLevels);
  const check = new JsonCheck(text, builder);
  while (!check.advance(PART)) await slices.next();
  return builder.value;
}

/** Builds a value from its parts. */
class JsonBuilder implements JsonParts {
  value: JsonValue = null;
  /** The lists and objects that are open, the innermost last. */
  private readonly open: Container[] = [];
  /** How many members each of them has; 0 for lists. */
  private readonly counts: number[] = [];
  /** The name of the member whose value comes next. */
  private latestName = '';

  constructor(
    private readonly text: string,
    private readonly mostLevels: number,
  ) {}

  opened(isList: boolean): void {
    const container: Container = isList ? [] : {};
    this.put(container);
    this.open.push(container);
    this.counts.push(0);
    if (this.open.length > this.mostLevels) throw new TooDeepError(`There are more than ${this.mostLevels} levels.`);
  }

  closed(): void {
    this.open.pop();
    this.counts.pop();
  }

  name(start: number, end: number): void {
    this.latestName = JSON.parse(this.text.slice(start, end)) as string;
  }

  scalar(start: number, end: number): void {
    this.put(JSON.parse(this.text.slice(start, end)) as JsonValue);
  }

  private put(value: JsonValue): void {
    const container = this.open.at(-1);
    if (container === undefined) this.value = value;
    else if (Array.isArray(container)) container.push(value);
    else this.putMember(container, value);
  }

  private putMember(container: Record<string, JsonValue>, value: JsonValue): void {
    if (!Object.hasOwn(container, this.latestName)) this.count(container);
    if (this.latestName === '__proto__') define(container, this.latestName, value);
    else container[this.latestName] = value;
  }

  /** Another member of the innermost object. */
  private count(container: object): void {
    const innermost = this.counts.length - 1;
    const count = (this.counts[innermost] ?? 0) + 1;
    this.counts[innermost] = count;
    if (count > MOST_LISTED) wide.add(container);
  }
}

/** Assigning to `__proto__` would set the prototype. */
function define(container: object, name: string, value: JsonValue): void {
  Object.defineProperty(container, name, { value, enumerable: true, configurable: true, writable: true });
}
