/** Levels of a message or of arguments: as many as the service takes of a call. */
export const MAX_LEVELS = 1_000;

/** True if a value is nested so deeply that it could not be written as JSON again. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_LEVELS; depth += 1) {
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
