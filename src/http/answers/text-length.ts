/** Whether a value has more characters as JSON than the limit; examines no more of it than necessary. */
export function isLonger(value: unknown, most: number): boolean {
  return remaining(value, most) < 0;
}

/** How many characters of the limit are left; negative if it is exceeded. Escapes are not counted. */
function remaining(value: unknown, most: number): number {
  if (typeof value === 'string') return most - value.length;
  let left = most - 1;
  if (typeof value !== 'object' || value === null) return left;
  const isList = Array.isArray(value);
  for (const name in value) {
    if (left < 0) return left;
    left = remaining((value as Record<string, unknown>)[name], left - (isList ? 0 : name.length));
  }
  return left;
}
