const DIGITS = 26;

/**
 * An id for examples: it stands for the record of its kind that was created as the `number`th of a session. In Swagger UI
 * `ui-start.ts` puts the real id in its place, so that the examples can be executed one after another.
 */
export function sampleId(prefix: string, number = 1): string {
  return `${prefix}_${String(number).padStart(DIGITS, '0')}`;
}
