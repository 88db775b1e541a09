/**
 * Characters that act on a terminal, break its lines or reorder its text: control and format characters, line
 * separators.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text by others as one line that does nothing to a terminal: such characters are shown as JSON escapes. */
export function shownText(text: string): string {
  return text.replace(ACTING, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
