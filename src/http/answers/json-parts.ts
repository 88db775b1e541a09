import { StoredJson } from '../../json/stored-json';

/** Levels of an answer in which stored JSON may stand: in a record, or in a part of one. */
const RECORD_LEVELS = 3;

interface PageAnswer {
  readonly data: readonly unknown[];
}

/** Whether an answer is better rendered in parts: a page of a list, or a record with stored JSON. */
export function isDivisible(answer: unknown): answer is object {
  return isPage(answer) || holdsStored(answer);
}

/** What JSON.stringify writes of an answer, in parts: of a page one for each record at least, and stored JSON as it is. */
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
  if (record instanceof StoredJson) {
    yield record.text;
  } else if (!holdsStored(record)) {
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

/** What lists answer: their rows come first. */
function isPage(answer: unknown): answer is PageAnswer {
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || 'toJSON' in answer) return false;
  return Array.isArray(answer.data) && Object.keys(answer)[0] === 'data';
}

function holdsStored(value: unknown, levels = RECORD_LEVELS): value is object {
  if (value instanceof StoredJson) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || levels === 1) return false;
  for (const name in value) {
    if (holdsStored((value as Record<string, unknown>)[name], levels - 1)) return true;
  }
  return false;
}
