/** What acts on a terminal, breaks a line of it or reorders what stands there: control and format characters, separators of lines. */
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
