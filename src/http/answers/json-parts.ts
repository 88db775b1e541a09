import { StoredJson } from '../../json/stored-json';
import { preparedText } from '../../ledger/chain/canonical-json';

/** Levels of an answer that may contain stored JSON: a record, or a part of one. */
const RECORD_LEVELS = 3;

interface PageAnswer {
  readonly data: readonly unknown[];
}

/**
 * Whether an answer is better rendered in chunks: a page of a list, or a record with JSON that is available as text.
 */
export function isDivisible(answer: unknown): answer is object {
  return isPage(answer) || holdsText(answer);
}

/**
 * What JSON.stringify writes for an answer, in chunks: for a page at least one per record; JSON available as text is
 * copied.
 */
export function* jsonParts(answer: object): Generator<string> {
  if (!isPage(answer)) {
    yield* partsOfRecord(answer);
    return;
  }
  const { data, ...others } = answer;
  let before = '{"data":[';
  for (const record of data) {
    yield before;
    yield* partsOfRecord(record);
    before = ',';
  }
  const rest = JSON.stringify(others).slice(1);
  yield `${data.length === 0 ? before : ''}]${rest === '}' ? '' : ','}${rest}`;
}

function* partsOfRecord(record: unknown): Generator<string> {
  const known = knownText(record);
  if (known !== undefined) {
    yield known;
  } else if (!holdsText(record)) {
    yield JSON.stringify(record ?? null);
  } else {
    let before = '{';
    for (const [name, member] of Object.entries(record)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* partsOfRecord(member);
      before = ',';
    }
    yield '}';
  }
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

function holdsText(value: unknown, levels = RECORD_LEVELS): value is object {
  if (knownText(value) !== undefined) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || levels === 1) return false;
  for (const name in value) {
    if (holdsText((value as Record<string, unknown>)[name], levels - 1)) return true;
  }
  return false;
}
