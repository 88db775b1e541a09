/** Returns the characters of the JSON of values, which may be records; undefined ones count nothing. */
export function jsonLength(...values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + (value === undefined ? 0 : JSON.stringify(value).length), 0);
}
