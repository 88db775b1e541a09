import type { Slices } from '../shared/slices';
import { JsonCheck } from './json-check';
import type { JsonValue } from './json-value';

/** Characters of JSON from which on it is put into answers as it is stored: to parse and render it would stall others. */
export const LONG_JSON = 1024;
/** Characters that are looked at between two looks at the clock. */
const PART = 64 * 1024;

/** A JSON value as the database holds it. Answers have its text; everything else that renders it, what it stands for. */
export class StoredJson {
  private constructor(readonly text: string) {}

  /** Throws SyntaxError when the text, which others may have altered, is not JSON. */
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

/** JSON that is to be answered: parsed, or as it is stored where it is long. Nobody may look into it. */
export async function jsonForAnswer<Value extends JsonValue>(text: string, slices: Slices): Promise<Value> {
  // Who only renders it need not know which of them it is.
  return (text.length > LONG_JSON ? await StoredJson.of(text, slices) : JSON.parse(text)) as Value;
}
