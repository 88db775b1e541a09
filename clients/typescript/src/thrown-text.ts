/** Undefined for what JSON cannot represent. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Empty for what has no text, such as an object without a prototype: whatever was thrown, it has to be reported. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return '';
  }
}
