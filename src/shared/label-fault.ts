const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}]/u;

/**
 * Says what a name that rules are about would have to be, or undefined when it is one: two such names must not look alike
 * because what distinguishes them cannot be seen.
 */
export function labelFault(text: string): string | undefined {
  if (text.trim() !== text) return 'must not begin or end with white space';
  return CONTROL_OR_FORMAT_CHARACTER.test(text) ? 'must not contain control or format characters' : undefined;
}
