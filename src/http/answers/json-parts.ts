import { LONG_JSON, StoredJson } from '../../json/stored-json';
import { preparedText } from '../../ledger/chain/canonical-json';

/** Levels of an answer that may contain stored JSON or long lists: a record, or a part of one. */
const RECORD_LEVELS = 3;
/** Characters of a list beyond which its items are rendered one by one, or some short ones at once. */
const LONG_LIST = 64 * 1024;
/** Characters of short items that are rendered at once. */
const AT_ONCE = 8 * 1024;

interface PageAnswer {
  readonly data: readonly unknown[];
}

/**
 * Whether an answer is better rendered in chunks: a page of a list, or a record with long lists, or with JSON that is
 * available as text.
 */
export function isDivisible(answer: unknown): answer is object {
  return isPage(answer) || holdsParts(answer);
}

/**
 * What JSON.stringify writes for an answer, in chunks: for a page, and for a long list, at least one per item that is not
 * short; JSON available as text is copied.
 */
export function* jsonParts(answer: object): Generator<string> {
  if (!isPage(answer)) {
    yield* partsOf(answer);
    return;
  }
  const { data, ...others } = answer;
  yield '{"data":';
  yield* partsOfList(data);
  const rest = JSON.stringify(others).slice(1);
  yield `${rest === '}' ? '' : ','}${rest}`;
}

function* partsOf(value: unknown): Generator<string> {
  const known = knownText(value);
  if (known !== undefined) yield known;
  else if (!holdsParts(value)) yield JSON.stringify(value ?? null);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfMembers(value);
}

function* partsOfList(list: readonly unknown[]): Generator<string> {
  for (let start = 0; start < list.length;) {
    const before = start === 0 ? '[' : ',';
    const end = endOfShort(list, start);
    if (end > start) {
      yield before + JSON.stringify(list.slice(start, end)).slice(1, -1);
      start = end;
    } else {
      yield before;
      yield* partsOf(list[start]);
      start += 1;
    }
  }
  yield list.length === 0 ? '[]' : ']';
}

/**
 * The end of the short items from an index on that are rendered at once: a part for each would take half as long again.
 * None of them holds text that could be copied, which is longer.
 */
function endOfShort(list: readonly unknown[], start: number): number {
  let end = start;
  for (let characters = 0; end < list.length && characters < AT_ONCE; end += 1) {
    const left = remaining(list[end], LONG_JSON);
    if (left < 0) break;
    characters += LONG_JSON - left;
  }
  return end;
}

function* partsOfMembers(record: object): Generator<string> {
  let before = '{';
  for (const [name, member] of Object.entries(record)) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* partsOf(member);
    before = ',';
  }
  yield '}';
}

/** Pages of lists: their rows come first. */
function isPage(answer: unknown): answer is PageAnswer {
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || 'toJSON' in answer) return false;
  return Array.isArray(answer.data) && Object.keys(answer)[0] === 'data';
}

/** The text of stored JSON, or of JSON that came with a large body. */
function knownText(value: unknown): string | undefined {
  if (value instanceof StoredJson) return value.text;
  return typeof value === 'object' && value !== null ? preparedText(value) : undefined;
}

/** Whether a value has text that can be copied, is a long list, or holds either. */
function holdsParts(value: unknown, levels = RECORD_LEVELS): value is object {
  if (knownText(value) !== undefined) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return isLonger(value, LONG_LIST);
  if (levels === 1) return false;
  for (const name in value) {
    if (holdsParts((value as Record<string, unknown>)[name], levels - 1)) return true;
  }
  return false;
}

/** Whether a value has more characters as JSON than the limit; examines no more of it than necessary. */
export function isLonger(value: unknown, most: number): boolean {
  return remaining(value, most) < 0;
}

/** How many characters of the limit are left; negative if it is exceeded. Escapes are not counted. */
function remaining(value: unknown, most: number): number {
  if (typeof value === 'string') return most - value.length;
  let left = most - 1;
  if (typeof value !== 'object' || value === null) return left;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index += 1) left = remaining(value[index], left);
    return left;
  }
  for (const name in value) {
    if (left < 0) return left;
    left = remaining((value as Record<string, unknown>)[name], left - name.length);
  }
  return left;
}
