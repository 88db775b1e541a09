/** Returns a value as JSON; undefined for a value that JSON cannot represent. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Returns the text of any thrown value; empty for a value without a text, such as an object without a prototype. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return '';
  }
}
