import type { Slices } from '../shared/slices';
import { JsonCheck } from './json-check';
import type { JsonValue } from './json-value';

/**
 * Characters of JSON above which it is put into answers as it is stored: parsing and rendering it would block other
 * requests.
 */
export const LONG_JSON = 1024;
/** Characters processed between two checks of the clock. */
const PART = 64 * 1024;

/**
 * A JSON value as stored in the database. Answers contain its text; anything else that renders it gets the parsed
 * value.
 */
export class StoredJson {
  private constructor(readonly text: string) {}

  /** Throws SyntaxError if the text, which somebody may have altered, is not JSON. */
  static async of(text: string, slices: Slices): Promise<StoredJson> {
    const check = new JsonCheck(text);
    while (!check.advance(PART)) await slices.next();
    await slices.next();
    return new StoredJson(text);
  }

  toJSON(): JsonValue {
    return JSON.parse(this.text) as JsonValue;
  }
}

/** JSON for an answer: parsed, or as it is stored if it is long. Its content must not be accessed. */
export async function jsonForAnswer<Value extends JsonValue>(text: string, slices: Slices): Promise<Value> {
  // Code that only renders it need not know the difference.
  return (text.length > LONG_JSON ? await StoredJson.of(text, slices) : JSON.parse(text)) as Value;
}
