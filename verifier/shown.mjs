/**
 * Control and format characters, and separators of lines: on a terminal they act, hide or reorder text, so that a record could show
 * a verdict of its own.
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Text from a file as one line that does nothing to a terminal: such characters are shown as JSON escapes.
 * @param {string} text
 */
export function shown(text) {
  return text.replace(ACTING, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
