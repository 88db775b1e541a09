import type { JsonObject, JsonScalar, JsonValue } from '../../json/json-value';

/** Texts that need no escaping in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Up to this length, testing a text is cheaper than having JSON.stringify write it. */
const SHORT = 40;

/** A list or an object that is being written. */
interface Level {
  readonly value: readonly JsonValue[] | JsonObject;
  /** The member names of an object; null for a list. */
  readonly names: string[] | null;
  /** Whether the names are sorted yet. */
  isSorted: boolean;
  next: number;
}

/** Writes the canonical JSON text of a value in chunks, whatever the order of its members. */
export class CanonicalWriter {
  private written = '';
  private readonly levels: Level[] = [];

  /** @param knownText of a list or an object whose text was prepared earlier. */
  constructor(
    value: JsonValue,
    private readonly knownText: (value: object) => string | undefined,
  ) {
    this.write(value);
  }

  get text(): string {
    return this.written;
  }

  /**
   * Writes this many more values. Returns true once the text is complete. Throws TypeError on what JSON cannot carry.
   */
  advance(values: number): boolean {
    for (let left = values; left > 0; left -= 1) {
      const level = this.levels.at(-1);
      if (level === undefined) return true;
      if (level.isSorted) this.step(level);
      // Listing a hundred thousand names takes long, and so does sorting them.
      else if (sort(level) > values) return false;
    }
    return this.levels.length === 0;
  }

  private step(level: Level): void {
    const { value, names, next } = level;
    level.next += 1;
    if (next === (names ?? (value as readonly JsonValue[])).length) {
      this.written += names === null ? ']' : '}';
      this.levels.pop();
      return;
    }
    if (next > 0) this.written += ',';
    const name = names?.[next] ?? next;
    if (typeof name === 'string') this.written += `${stringText(name)}:`;
    this.write((value as Readonly<Record<string | number, JsonValue>>)[name] as JsonValue);
  }

  private write(value: JsonValue): void {
    if (typeof value !== 'object' || value === null) {
      this.written += scalarText(value);
      return;
    }
    const known = this.knownText(value);
    if (known !== undefined) {
      this.written += known;
      return;
    }
    const isList = Array.isArray(value);
    this.written += isList ? '[' : '{';
    this.levels.push({ value, names: isList ? null : Object.keys(value), isSorted: isList, next: 0 });
  }
}

/** Returns the number of names. */
function sort(level: Level): number {
  level.isSorted = true;
  return level.names?.sort().length ?? 0;
}

function scalarText(value: JsonScalar): string {
  if (typeof value === 'string') return stringText(value);
  refuseNoScalar(value);
  return String(value);
}

function stringText(text: string): string {
  return text.length <= SHORT && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

export function refuseNoScalar(value: unknown): void {
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || value === null;
  if (isScalar || (typeof value === 'number' && Number.isFinite(value))) return;
  throw new TypeError('JSON carries finite numbers, strings, booleans, null, lists and objects only.');
}
